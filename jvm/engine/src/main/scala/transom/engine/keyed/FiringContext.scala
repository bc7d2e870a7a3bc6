package transom.engine.keyed

import transom.engine.GlobalGrid

/** Why a window fires, and how far time had come by then. */
private[keyed] final class FiringContext {
  var cause: Cause = Cause.Rows
  var watermark: Long = Long.MinValue
  var clock: Long = Long.MinValue

  /** The timer that was due, if one was, and its timeline. */
  var timer: Long = FiringContext.NoTimer
  var timeline: Timeline = Timeline.Event

  def set(cause: Cause, watermark: Long, clock: Long): this.type = {
    this.cause = cause
    this.watermark = watermark
    this.clock = clock
    timer = FiringContext.NoTimer
    this
  }

  def setTimer(timeline: Timeline, timer: Long): Unit = {
    this.timeline = timeline
    this.timer = timer
    cause =
      if (watermark >= GlobalGrid.EndOfTime) Cause.Drain
      else if (timeline == Timeline.Clock) Cause.Clock
      else Cause.Watermark
  }
}

private[keyed] object FiringContext {
  final val NoTimer = Long.MinValue
}
