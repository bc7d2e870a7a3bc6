package transom.engine.firing

import transom.engine.setting.Check
import transom.engine.time.Ticks

/** Decides which rows of a window are kept when it fires. The other rows are removed. */
sealed trait Evictor extends Product {

  /** Whether rows are removed before or after the result is computed. */
  def when: Eviction

  /** Creates the logic of the evictor.
    *
    * @param conditions
    *   the user's predicates and distance functions
    * @param times
    *   the times of the rows of windows
    */
  def logic[R, A](conditions: Conditions[R, A], times: TimedRows[R]): EvictorLogic[R, A]
}

/** When an evictor removes rows. */
sealed trait Eviction

/** The values of [[Eviction]]. */
object Eviction {

  /** Rows are removed before the result is computed, so the result does not include them. */
  case object Before extends Eviction

  /** Rows are removed after the result is computed, so only later results exclude them. */
  case object After extends Eviction
}

/** Knows the times of rows. */
trait TimedRows[R] {
  def hasTime(row: R): Boolean

  /** Time of a row in microseconds. */
  def timeOf(row: R): Long
}

/** Decides which rows of a pane an evictor keeps. Executes an [[Evictor]]. */
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

/** Keeps the last `rows` rows in order of arrival (flink.md 7.3). */
final case class KeepLast(rows: Int, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("rows", rows)

  override def logic[R, A](
      conditions: Conditions[R, A],
      times: TimedRows[R]): EvictorLogic[R, A] = new KeepLastLogic(rows)
}

private final class KeepLastLogic[R, A](count: Int) extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean = {
    val first = rows.length - count
    _ >= first
  }
}

/** Keeps rows whose time is greater than the newest row's time minus `withinUs` (flink.md 7.4).
  * Only row times count, not the wall clock or the watermark. Keeps all rows if the first row has
  * no time.
  *
  * @param withinUs
  *   maximum age of a row, measured back from the newest row, in microseconds
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepRecent(withinUs: Long, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("within_us", withinUs)

  override def logic[R, A](
      conditions: Conditions[R, A],
      times: TimedRows[R]): EvictorLogic[R, A] = new KeepRecentLogic(withinUs, times)
}

private final class KeepRecentLogic[R, A](within: Long, times: TimedRows[R])
    extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    if (rows.isEmpty || !times.hasTime(rows.head)) _ => true
    else {
      val cut = Ticks.subtract(rows.iterator.map(times.timeOf).max, within)
      i => times.timeOf(rows(i)) > cut
    }
}

/** Keeps rows whose distance from the last row by arrival is less than `threshold` (flink.md
  * 7.5).
  *
  * @param deltaColumn
  *   index of the distance function's column
  * @param threshold
  *   the distance at which rows are removed
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepNear(deltaColumn: Int, threshold: Double, when: Eviction = Eviction.Before)
    extends Evictor {

  override def logic[R, A](
      conditions: Conditions[R, A],
      times: TimedRows[R]): EvictorLogic[R, A] =
    new KeepNearLogic(conditions.delta(deltaColumn), threshold)
}

private final class KeepNearLogic[R, A](delta: Delta[R], threshold: Double)
    extends EvictorLogic[R, A] {

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    i => delta(rows(i), rows.last) < threshold
}

/** Keeps rows for which a predicate on the row and its pane is true.
  *
  * @param conditionColumn
  *   index of the predicate's column
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepWhere(conditionColumn: Int, when: Eviction = Eviction.Before)
    extends Evictor {

  override def logic[R, A](
      conditions: Conditions[R, A],
      times: TimedRows[R]): EvictorLogic[R, A] =
    new KeepWhereLogic(conditions.condition(conditionColumn))
}

private final class KeepWhereLogic[R, A](condition: Condition[R, A]) extends EvictorLogic[R, A] {

  override def readsAccumulator: Boolean = condition.readsAccumulator

  override def keep(rows: IndexedSeq[R], accumulator: A): Int => Boolean =
    rows.andThen(condition.among(accumulator))
}
