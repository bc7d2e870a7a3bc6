package transom.engine.policy

import transom.engine.runtime._
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Watermark}

/** Builds the host's output rows of the time stage. A row may overwrite the one before it. */
trait StampedRows[T] {

  /** An input row or a punctuation with its stamp; null if the host needs no output row for it.
    *
    * @param row
    *   bytes of the row
    */
  def stamped(row: ByteRange, stamp: Stamp): T

  /** An input row that no rule can judge. */
  def unusable(row: ByteRange, reason: DeadLetterReason): T

  /** The row by which a task that keeps rows sees which rows the stage has judged. Other tasks
    * send no such event.
    */
  def read(rows: Event.ReadRows): T =
    throw new UnsupportedOperationException("these rows do not stay with their tasks")

  /** The row by which the operators below see how the watermark advances, in microseconds since
    * 1970.
    */
  def advanced(advance: Advance): T
}

/** The time stage of a task: stamps rows by a time policy, in their order.
  *
  * @param clocks
  *   opens the clocks of a key group at a wall-clock time, in microseconds since 1970
  */
final class TimeStage[T](clocks: (SourceStore, Long) => StageClock, rows: StampedRows[T])
    extends TaskOperator[SourceStore, T] {

  override def open(group: Int, store: SourceStore, clock: Long): KeyGroupOperator[T] =
    new TimeStageGroupOperator(this, clocks(store, clock), rows)
}

/** The time stage of one key group of sources.
  *
  * The key of a row is its source, and its value is the whole row. Its arrival is in
  * `arrival.clock`.
  */
private final class TimeStageGroupOperator[T](
    owner: TaskOperator[_, T],
    clocks: StageClock,
    rows: StampedRows[T])
    extends KeyGroupOperator[T](owner) {
  private val stamp = new Stamp
  private var output: T = _
  private val one = new OneResult(output)
  private var hasTicked = false

  override def nextTimer: Long = Long.MaxValue

  override def gauges: Option[Gauges] = {
    val partitions = clocks.partitions
    Some(
      Gauges(
        watermark = Some(clocks.watermark).filter(_ != Watermark.NotYet),
        partitions = PartitionGauge.first(partitions),
        partitionCount = partitions.size))
  }

  override protected def handle(event: Event): Iterator[T] = event match {
    case row: Event.Row =>
      clocks.judge(row.key, row.arrival.time, row.arrival.clock, row.arrival.end, stamp)
      TimeStage.count(counts, stamp)
      emit(rows.stamped(row.value, stamp))
    case punctuation: Event.Punctuation =>
      import punctuation.row
      clocks.punctuate(row.key, row.arrival.time, row.arrival.clock, stamp)
      counts.add(RowCounts.Punctuation)
      emit(rows.stamped(row.value, stamp))
    case letter: Event.DeadLetter =>
      clocks.noteRow()
      emit(rows.unusable(letter.input, letter.reason))
    case read: Event.ReadRows => emit(rows.read(read))
    case task: Event.Counts =>
      counts.add(task.bytes)
      Pulled.none
    case Event.Tick =>
      hasTicked = true
      Pulled.none
    case _: Event.Advanced => Pulled.none
    case other => throw new IllegalArgumentException(s"the time stage takes no $other")
  }

  private def emit(row: T): Iterator[T] = {
    output = row
    if (row == null) Pulled.none else one.again()
  }

  override protected def finish(): Iterator[T] = {
    if (hasTicked && clocks.tick()) counts.add(RowCounts.IdleCloses)
    clocks.advance.iterator.map(rows.advanced)
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.Overtaken, clocks.overtaken)
    clocks.save()
  }
}

/** Counts what a time policy does. */
object TimeStage {

  /** Counts the decision about a row. */
  def count(counts: RowCounts, stamp: Stamp): Unit =
    if (!stamp.broken.isEmpty || stamp.dropped != null)
      count(counts, stamp.broken, stamp.isAdjusted, Option(stamp.dropped))

  /** Counts the decision about a row.
    *
    * @param broken
    *   the rules that the row broke
    * @param dropped
    *   why the row is dropped; none if the row is accepted
    */
  def count(
      counts: RowCounts,
      broken: PolicyRules,
      isAdjusted: Boolean,
      dropped: Option[DeadLetterReason]): Unit = {
    PolicyRule.all.foreach(rule => if (broken.contains(rule)) counts.add(rule.count))
    dropped match {
      case Some(reason) => counts.add(reason.count)
      case None => if (isAdjusted) counts.add(RowCounts.Adjusted)
    }
  }
}
