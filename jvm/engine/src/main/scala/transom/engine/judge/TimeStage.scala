package transom.engine.judge

import transom.engine.runtime._
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Watermark}

/** Builds the host's output rows of the time stage. A row may overwrite the one before it. */
trait JudgedRows[T] {

  /** An input row or a punctuation with its judgement; null if the host needs no output row for
    * it.
    *
    * @param row
    *   bytes of the row
    */
  def judged(row: ByteRange, judgement: Judgement): T

  /** The row by which a task that keeps rows sees which rows the stage has judged. Other tasks
    * send no such input.
    */
  def read(rows: GroupInput.ReadRows): T =
    throw new UnsupportedOperationException("these rows do not stay with their tasks")

  /** Notes how the watermark of the operators below advances, in microseconds since 1970. Called
    * before the first row of a batch, and after its last row.
    */
  def advance(to: Advance): Unit
}

/** The time stage of a task: judges rows by a time policy, in their order.
  *
  * @param judgeOf
  *   opens the judge of a key group at a wall-clock time, in microseconds since 1970
  */
final class TimeStage[T](judgeOf: (SourceStore, Long) => Judge, rows: JudgedRows[T])
    extends TaskOperator[SourceStore, T] {

  override def open(group: Int, store: SourceStore, clock: Long): KeyGroupOperator[T] =
    new TimeStageGroupOperator(this, judgeOf(store, clock), rows)
}

/** The time stage of one key group of sources.
  *
  * The key of a row is its source, and its value is the whole row.
  */
private final class TimeStageGroupOperator[T](
    owner: TaskOperator[_, T],
    judge: Judge,
    rows: JudgedRows[T])
    extends KeyGroupOperator[T](owner) {
  private val judgement = new Judgement
  private var output: T = _
  private val one = new OneResult(output)
  private var hasTicked = false
  rows.advance(judge.advance)

  override def nextTimer: Long = Long.MaxValue

  override def gauges: Option[Gauges] = {
    val partitions = judge.partitions
    Some(
      Gauges(
        watermark = Some(judge.watermark).filter(_ != Watermark.NotYet),
        partitions = PartitionGauge.first(partitions),
        partitionCount = partitions.size))
  }

  override protected def handle(input: GroupInput): Iterator[T] = input match {
    case row: GroupInput.Row =>
      judge.judge(judge.sourceOf(row.key), row, judgement)
      judgement.count(counts)
      emit(rows.judged(row.value, judgement))
    case punctuation: GroupInput.Punctuation =>
      import punctuation.row
      judge.punctuate(judge.sourceOf(row.key), row, judgement)
      judgement.count(counts)
      emit(rows.judged(row.value, judgement))
    case letter: GroupInput.DeadLetter =>
      judge.noteRow()
      judgement.refuse(letter.reason)
      emit(rows.judged(letter.input, judgement))
    case read: GroupInput.ReadRows => emit(rows.read(read))
    case task: GroupInput.Counts =>
      counts.add(task.bytes)
      Pulled.none
    case GroupInput.Tick =>
      hasTicked = true
      Pulled.none
    case _: GroupInput.Advanced => Pulled.none
    case other => throw new IllegalArgumentException(s"the time stage takes no $other")
  }

  private def emit(row: T): Iterator[T] = {
    output = row
    if (row == null) Pulled.none else one.again()
  }

  override protected def finish(): Iterator[T] = {
    if (hasTicked && judge.tick()) counts.add(RowCounts.IdleCloses)
    rows.advance(judge.advance)
    Pulled.none
  }

  override protected def save(): Unit = {
    counts.add(RowCounts.Overtaken, judge.overtaken)
    judge.save()
  }
}
