package transom.engine.policy

import transom.engine.operator._
import transom.engine.state.ByteRange
import transom.engine.time.Watermark

/** Builds the host's output rows of the time stage. A row may overwrite the one before it. */
trait StampedRows[T] {

  /** An input row with its stamp.
    *
    * @param row
    *   bytes of the row
    */
  def stamped(row: ByteRange, stamp: Stamp): T

  /** An input row that no rule can judge. */
  def unusable(row: ByteRange, reason: DeadLetterReason): T

  /** Tells the operators below that the watermark of a source has advanced.
    *
    * @param watermark
    *   microseconds since 1970
    */
  def watermark(watermark: Long): T
}

/** The time stage of a task: stamps rows by a time policy, in their order.
  *
  * @param sendsWatermarks
  *   whether operators below need the watermarks
  */
final class TimeStage[T](logic: TimePolicyLogic, rows: StampedRows[T], sendsWatermarks: Boolean)
    extends WindowOperator[SourceStore, T] {
  private val emissions = new Emissions[T]

  override def open(group: Int, store: SourceStore, clock: Long): KeyGroupOperator[T] =
    new TimeStageOperator(logic, new SourceClocks(logic, store), rows, sendsWatermarks, emissions)
}

/** The time stage of one key group of sources.
  *
  * The key of a row is its source, and its value is the whole row. Its arrival is in
  * `arrival.clock`.
  */
private final class TimeStageOperator[T](
    logic: TimePolicyLogic,
    clocks: SourceClocks,
    rows: StampedRows[T],
    sendsWatermarks: Boolean,
    emissions: Emissions[T])
    extends KeyGroupOperator[T](emissions) {
  private val stamp = new Stamp

  override def nextTimer: Long = Long.MaxValue

  override protected def handle(event: Event): Unit = event match {
    case row: Event.Row =>
      logic.judge(clocks(row.key), row.arrival.time, row.arrival.clock, stamp)
      TimeStage.count(counts, stamp)
      emissions.emit(rows.stamped(row.value, stamp))
    case letter: Event.DeadLetter => emissions.emit(rows.unusable(letter.input, letter.reason))
    case task: Event.Counts => counts.add(task.bytes)
    case _: Event.Watermark =>
    case other => throw new IllegalArgumentException(s"the time stage takes no $other")
  }

  override protected def advance(): Iterator[T] =
    if (!sendsWatermarks) Iterator.empty
    else
      clocks.touched
        .map { case (_, clock) => logic.watermarkOf(clock) }
        .filter(_ != Watermark.NotYet)
        .map(rows.watermark)

  override protected def save(): Unit = clocks.save()
}

/** Counts what a time policy does. */
object TimeStage {

  /** Adds a stamp to the counts. */
  def count(counts: RowCounts, stamp: Stamp): Unit = {
    if ((stamp.rules & Stamp.Early) != 0) counts.add(RowCounts.Early)
    if ((stamp.rules & Stamp.LateArrival) != 0) counts.add(RowCounts.LateArrival)
    if ((stamp.rules & Stamp.OutOfOrder) != 0) counts.add(RowCounts.OutOfOrder)
    if (stamp.dropped != null) counts.add(stamp.dropped.count)
    else if (stamp.isAdjusted) counts.add(RowCounts.Adjusted)
  }
}
