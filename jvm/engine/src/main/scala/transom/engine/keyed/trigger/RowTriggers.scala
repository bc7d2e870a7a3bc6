package transom.engine.keyed.trigger

import transom.engine.window.Timeline

/** Base of triggers that react only to rows and batch ends and set no timers. */
abstract class RowTriggerLogic[R, A] extends TriggerLogic[R, A] {

  override def slots: Int = 0

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = ()

  override def clear(window: TriggerContext[R, A]): Unit = ()
}

/** Fires after every `rows` rows (flink.md 5.3). When windows merge, their counts are added up.
  * The sum may exceed `rows` before the next row makes the trigger fire.
  */
final class AfterCountLogic[R, A](val rows: Int, slot: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val count = if (window.isSet(slot)) window(slot) + 1 else 1L
    if (count < rows) {
      window(slot) = count
      TriggerResult.Continue
    } else {
      window.unset(slot)
      TriggerResult.Fire
    }
  }

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit = {
    val counts = sources.filter(_.isSet(slot)).map(_(slot))
    if (counts.nonEmpty) window(slot) = counts.sum
  }

  override def clear(window: TriggerContext[R, A]): Unit = window.unset(slot)
}

/** Fires when the distance between the new row and the row of the last firing exceeds
  * `threshold`. Before the first firing, the distance is measured from the first row of the
  * window (flink.md 5.6).
  */
final class AfterDeltaLogic[R, A](delta: Delta[R], threshold: Double, slot: Int)
    extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def canMerge: Boolean = false

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (!window.isSet(slot)) {
      window.remember(slot, window.row)
      TriggerResult.Continue
    } else if (delta(window.rememberedRow(slot), window.row) > threshold) {
      window.remember(slot, window.row)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def clear(window: TriggerContext[R, A]): Unit = window.forget(slot)
}

/** Fires when the predicate holds for a new row and its window. The accumulator includes the row.
  */
final class WhenLogic[R, A](condition: Condition[R, A]) extends RowTriggerLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (condition.among(window.accumulator)(window.row)) TriggerResult.Fire
    else TriggerResult.Continue
}

/** Fires at the end of each micro-batch in which the window got rows. If the watermark of a row
  * removes the window before the batch ends, the window fires at its cleanup.
  *
  * @param slot
  *   set if the window got rows in this batch
  */
final class EveryBatchLogic[R, A](slot: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    window(slot) = 1L
    TriggerResult.Continue
  }

  override def onTimer(
      timeline: Timeline,
      timer: Long,
      window: TriggerContext[R, A]): TriggerResult =
    if (timeline == window.timeline && timer == window.cleanup) onBatchEnd(window)
    else TriggerResult.Continue

  override def seesBatches: Boolean = true

  override def onBatchEnd(window: TriggerContext[R, A]): TriggerResult =
    if (window.isSet(slot)) {
      window.unset(slot)
      TriggerResult.Fire
    } else TriggerResult.Continue

  override def onMerge(sources: Seq[TriggerMemory], window: TriggerContext[R, A]): Unit =
    if (sources.exists(_.isSet(slot))) window(slot) = 1L

  override def clear(window: TriggerContext[R, A]): Unit = window.unset(slot)
}

/** Never fires. */
final class NeverLogic[R, A] extends RowTriggerLogic[R, A] {

  override def onRow(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue
}
