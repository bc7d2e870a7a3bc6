package transom.engine.keyed

import transom.engine.time.Timeline

/** Why a window fires, and the watermark and wall-clock time of the firing. Mutable and reused.
  */
private[keyed] final class FiringContext {
  var cause: Cause = Cause.Rows
  var watermark: Long = Long.MinValue
  var clock: Long = Long.MinValue

  /** The due timer that causes the firing, or `NoTimer`. `timeline` is valid only with a timer.
    */
  var timer: Long = FiringContext.NoTimer
  var timeline: Timeline = Timeline.Event

  /** The watermark without the idle timeout. Only the idle timeout causes later timers. */
  var watermarkByRows: Long = Long.MaxValue

  /** Starts a firing that no timer causes. */
  def set(cause: Cause, watermark: Long, clock: Long): this.type = {
    this.cause = cause
    this.watermark = watermark
    this.clock = clock
    timer = FiringContext.NoTimer
    this
  }

  /** Adds the due timer and derives the cause from it. Call `set` first. */
  def setTimer(timeline: Timeline, timer: Long): Unit = {
    this.timeline = timeline
    this.timer = timer
    cause =
      if (watermark >= Timeline.EndOfTime) Cause.Drain
      else if (timeline == Timeline.Clock) Cause.Clock
      else if (timer > watermarkByRows) Cause.Idle
      else Cause.Watermark
  }
}

private[keyed] object FiringContext {

  /** Value of `timer` if no timer causes the firing. */
  final val NoTimer = Long.MinValue
}
