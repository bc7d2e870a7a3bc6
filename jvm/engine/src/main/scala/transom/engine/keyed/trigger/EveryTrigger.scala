package transom.engine.keyed.trigger

import transom.engine.time.Ticks
import transom.engine.window.Timeline

/** Fires at a fixed interval and at the end of the window (flink.md 5.4, 5.5, 9.2).
  *
  * @param interval
  *   in microseconds
  * @param timeline
  *   the kind of time that the interval is measured in
  * @param aligned
  *   whether the firing times are multiples of the interval since 1970. If not, they count from
  *   the first row of the window.
  * @param slot
  *   holds the next firing time
  */
final class EveryLogic[R, A](interval: Long, timeline: Timeline, aligned: Boolean, slot: Int)
    extends TriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val isPast = window.timeline != Timeline.Clock && window.end <= window.watermark
    if (isPast && timeline == Timeline.Event) TriggerResult.Fire
    else {
      if (!isPast && window.timeline != Timeline.Clock) {
        window.addTimer(Timeline.Event, window.end)
      }
      if (!window.isSet(slot)) {
        val time = if (timeline == Timeline.Event) window.time else window.rowClock
        // Truncates toward zero as Flink does, so before 1970 the first firing is one interval
        // later.
        set(next(if (aligned) time - time % interval else time, window), window)
      }
      TriggerResult.Continue
    }
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == Timeline.Event && timer == window.end && window.timeline != Timeline.Clock) {
      TriggerResult.Fire
    } else if (timeline == this.timeline && timer == window(slot)) {
      window.unset(slot)
      if (repeats(timer, window)) set(next(timer - 1, window), window)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = {
    val pending = sources.filter(_.isSet(slot)).map(_(slot))
    pending.minOption.foreach(set(_, window))
  }

  override def clear(window: TriggerContext[R, A]): Unit =
    if (window.isSet(slot)) {
      window.removeTimer(timeline, window(slot))
      window.unset(slot)
    }

  /** The firing time after `after`, but not later than the end of the window. */
  private def next(after: Long, window: TriggerContext[R, A]): Long = {
    val timer = Ticks.add(Ticks.add(after, interval), 1L)
    if (hasEnd(window)) math.min(timer, window.end) else timer
  }

  // When the input ends, the watermark jumps to the end of time. Without this limit, a window
  // without end would fire for each interval until then.
  private def repeats(timer: Long, window: TriggerContext[R, A]): Boolean =
    !hasEnd(window) ||
      timer < window.end &&
      (window.timeline != Timeline.Endless || window.watermark < window.end)

  private def hasEnd(window: TriggerContext[R, A]): Boolean =
    window.timeline == timeline ||
      window.timeline == Timeline.Endless && timeline == Timeline.Event

  private def set(timer: Long, window: TriggerContext[R, A]): Unit = {
    window(slot) = timer
    window.addTimer(timeline, timer)
  }
}
