package transom.engine.keyed

import transom.engine.Ticks

/** As `nested`, but the contents go after each firing (flink.md 5.7). */
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

  override def seesBatches: Boolean = nested.seesBatches

  override def onBatchEnd(window: TriggerContext[R, A]): TriggerResult =
    PurgingLogic.purging(nested.onBatchEnd(window))

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    nested.onMerge(sources, window)

  override def clear(window: TriggerContext[R, A]): Unit = nested.clear(window)
}

object PurgingLogic {

  def purging(result: TriggerResult): TriggerResult =
    if (result.fires) TriggerResult.FireAndPurge else result
}

/** As `nested`, and `after` the first row since the last firing, on the wall clock. Any timer of
  * the window makes it fire, that of its cleanup too (flink.md 5.8). A timeout that clears
  * `nested` removes the timer at the end of the window. Without lateness that is the timer of the
  * cleanup, so the window fires at its end only if more rows come.
  *
  * @param reset
  *   count from the newest row instead
  * @param clear
  *   whether `nested` starts anew when the time is over
  * @param slot
  *   when it is
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
