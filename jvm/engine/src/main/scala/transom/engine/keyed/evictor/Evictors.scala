package transom.engine.keyed.evictor

import transom.engine.keyed.keystate.Contents
import transom.engine.keyed.trigger.{Condition, Conditions, Delta}
import transom.engine.spec._
import transom.engine.time.Ticks
import transom.engine.window.Arrival

/** Decides which rows of a pane an evictor keeps. Executes an `Evictor` spec. */
abstract class EvictorLogic[R, A] {

  /** Whether `keep` reads the accumulator of the pane. */
  def readsAccumulator: Boolean = false

  /** Returns a predicate on positions in `rows`: whether the evictor keeps the row.
    *
    * @param rows
    *   rows of the pane in order of arrival
    * @param accumulator
    *   accumulator of `rows`; null if `readsAccumulator` is false
    */
  def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean
}

/** Creates executable evictors from specs. */
object Evictors {

  def logic[R, A](
      evictor: Evictor,
      conditions: Conditions[R, A],
      contents: Contents[R]): EvictorLogic[R, A] = evictor match {
    case KeepLast(rows, _) => new KeepLastLogic(rows)
    case KeepRecent(within, _) => new KeepRecentLogic(within, contents)
    case KeepNear(column, threshold, _) => new KeepNearLogic(conditions.delta(column), threshold)
    case KeepWhere(column, _) => new KeepWhereLogic(conditions.condition(column))
  }
}

/** Keeps the last `count` rows by arrival (flink.md 7.3). */
final class KeepLastLogic[R, A](count: Int) extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean = {
    val first = rows.length - count
    _ >= first
  }
}

/** Keeps rows whose time is greater than the newest row's time minus `within` microseconds
  * (flink.md 7.4). Only row times count, not the wall clock or the watermark. Keeps all rows if
  * the first row has no time.
  */
final class KeepRecentLogic[R, A](within: Long, contents: Contents[R])
    extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    if (rows.isEmpty || contents.timeOf(rows.head) == Arrival.NoTime) _ => true
    else {
      val cut = Ticks.subtract(rows.iterator.map(contents.timeOf).max, within)
      i => contents.timeOf(rows(i)) > cut
    }
}

/** Keeps rows whose distance to the last row by arrival is less than `threshold` (flink.md 7.5).
  */
final class KeepNearLogic[R, A](delta: Delta[R], threshold: Double) extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    i => delta(rows(i), rows.last) < threshold
}

/** Keeps rows for which a predicate on the row and its pane holds. */
final class KeepWhereLogic[R, A](condition: Condition[R, A]) extends EvictorLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    rows.andThen(condition.among(accumulator))
}
