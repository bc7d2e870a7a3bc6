package transom.engine.keyed

import transom.engine.Ticks
import transom.engine.spec._

/** The running half of an evictor: which rows of a pane stay. */
abstract class EvictorLogic[R, A] {

  /** Whether it looks at the accumulator of the pane. */
  def readsAccumulator: Boolean = false

  /** Marks those of `rows` that stay, which are in the order of their arrival.
    *
    * @param accumulator
    *   their accumulator, if `readsAccumulator`
    */
  def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean
}

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

/** The rows that came last (flink.md 7.3). */
final class KeepLastLogic[R, A](count: Int) extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean = {
    val first = rows.length - count
    _ >= first
  }
}

/** Rows newer than the newest one, less `within` (flink.md 7.4): times of rows count, no clock
  * and no watermark does.
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

/** Rows less than `threshold` away from the one that came last (flink.md 7.5). */
final class KeepNearLogic[R, A](delta: Delta[R], threshold: Double) extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    i => delta(rows(i), rows.last) < threshold
}

/** Rows of which a condition holds, given them and their pane. */
final class KeepWhereLogic[R, A](condition: Condition[R, A]) extends EvictorLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    rows.andThen(condition.among(accumulator))
}
