package transom.engine.keyed

/** A trigger that goes by rows alone and sets no timers. */
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

/** Each time so many rows have come (flink.md 5.3). Counts of windows that merge are added up; a
  * row that joins them may go past the number.
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
    val counts = sources.collect { case source if source.isSet(slot) => source(slot) }
    if (counts.nonEmpty) window(slot) = counts.sum
  }

  override def clear(window: TriggerContext[R, A]): Unit = window.unset(slot)
}

/** How far a row is from an older one. */
trait Delta[R] {
  def apply(older: R, newer: R): Double
}

/** When a row is more than `threshold` away from the row of the last firing, at first from the
  * first row (flink.md 5.6).
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

/** A question about a row and the accumulator of the rows it stands among. */
trait Condition[R, A] {

  /** Whether it looks at the accumulator. */
  def readsAccumulator: Boolean = true

  /** The question about rows that stand among those of an accumulator, valid until it is asked
    * for the next. The accumulator is null if the question does not look at it.
    */
  def among(accumulator: A): R => Boolean
}

/** When a new row and the window so far, the row included, say so. */
final class WhenLogic[R, A](condition: Condition[R, A]) extends RowTriggerLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def onRow(window: TriggerContext[R, A]): TriggerResult =
    if (condition.among(window.accumulator)(window.row)) TriggerResult.Fire
    else TriggerResult.Continue
}

/** At the end of each micro-batch that brought the window rows.
  *
  * @param slot
  *   set if this batch did
  */
final class EveryBatchLogic[R, A](slot: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 1

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    window(slot) = 1L
    TriggerResult.Continue
  }

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

final class NeverLogic[R, A] extends RowTriggerLogic[R, A] {

  override def onRow(window: TriggerContext[R, A]): TriggerResult = TriggerResult.Continue
}

/** Once a count window is full, which is its end. Remembers the first and last of its rows'
  * times, since its own bounds are numbers of rows.
  */
final class FullCountLogic[R, A](size: Int) extends RowTriggerLogic[R, A] {

  override def slots: Int = 3

  override def onRow(window: TriggerContext[R, A]): TriggerResult = {
    val count = if (window.isSet(FullCountLogic.Count)) window(FullCountLogic.Count) + 1 else 1L
    window(FullCountLogic.Count) = count
    val time = window.time
    if (time != Arrival.NoTime) {
      import FullCountLogic.{First, Last}
      if (!window.isSet(First) || time < window(First)) window(First) = time
      if (!window.isSet(Last) || time > window(Last)) window(Last) = time
    }
    if (count < size) TriggerResult.Continue else TriggerResult.FireAndPurge
  }
}

object FullCountLogic {
  final val Count = 0
  final val First = 1
  final val Last = 2
}
