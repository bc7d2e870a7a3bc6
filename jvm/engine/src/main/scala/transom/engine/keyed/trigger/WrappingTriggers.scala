package transom.engine.keyed.trigger

import transom.engine.time.Ticks
import transom.engine.window.Timeline

/** Fires by `nested` and removes the contents of the window at each firing (flink.md 5.7). */
final class PurgingLogic[R, A](nested: TriggerLogic[R, A]) extends TriggerLogic[R, A] {

  override def slots: Int = nested.slots

  override def canMerge: Boolean = nested.canMerge

  override def readsAccumulator: Boolean = nested.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    PurgingLogic.purging(nested.onRow(window))

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    PurgingLogic.purging(nested.onTimer(timeline, timer, window))

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    nested.onMerge(sources, window)

  override def clear(window: TriggerContext[R, A]): Unit = nested.clear(window)
}

object PurgingLogic {

  /** Turns a firing into a firing that also purges. */
  def purging(result: TriggerResult): TriggerResult =
    if (result.fires) TriggerResult.FireAndPurge else result
}

/** Fires by `nested`, and when a processing-time timeout expires (flink.md 5.8).
  *
  * The timeout starts with the first row of the window. After `nested` fires on a row, the
  * timeout stops, and the next row starts it again. An expired timeout stays expired until then,
  * unless `reset` or `clear` is set. Any timer of the window makes the trigger fire, including
  * the cleanup timer.
  *
  * With `clear`, a timeout also removes the timer of `nested` at the end of the window. Without
  * lateness, the timer at the end is also the cleanup timer. The window then fires at its end
  * only if more rows come.
  *
  * @param after
  *   length of the timeout in microseconds
  * @param reset
  *   whether each row starts the timeout again
  * @param clear
  *   whether the state of `nested` is cleared at each timer of the window
  * @param slot
  *   holds the time of the timeout
  */
final class ProcessingTimeoutLogic[R, A](
    nested: TriggerLogic[R, A],
    after: Long,
    reset: Boolean,
    clear: Boolean,
    slot: Int)
    extends TriggerLogic[R, A] {

  override def slots: Int = 1 + nested.slots

  override def canMerge: Boolean = false

  override def readsAccumulator: Boolean = nested.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val result = nested.onRow(window)
    if (result.fires) clear(window)
    else {
      if (reset) stop(window)
      if (!window.isSet(slot)) {
        val timer = Ticks.add(Ticks.add(window.rowClock, after), 1L)
        window(slot) = timer
        window.addTimer(Timeline.Clock, timer)
      }
    }
    result
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult = {
    val result = nested.onTimer(timeline, timer, window)
    if (clear) clear(window)
    if (result.purges) TriggerResult.FireAndPurge else TriggerResult.Fire
  }

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    throw new UnsupportedOperationException("windows with a processing timeout do not merge")

  override def clear(window: TriggerContext[R, A]): Unit = {
    stop(window)
    nested.clear(window)
  }

  private def stop(window: TriggerContext[R, A]): Unit = if (window.isSet(slot)) {
    window.removeTimer(Timeline.Clock, window(slot))
    window.unset(slot)
  }
}
