package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.{ExchangeDecoder, RowNumbers, RowStamp}
import org.apache.spark.sql.transom.planned.{TimeStagePlan, Verdict, WindowOperatorPlan}

import transom.engine.policy._
import transom.engine.runtime._
import transom.engine.state.{ByteRange, KeyGroupState}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.Arrival

/** The tasks of a time stage. */
final case class TimeStageTasks(plan: TimeStagePlan) extends KeyGroupTasks {
  override def create(): KeyGroupTask = new TimeStageTask(plan)

  override def followSpark: Boolean = false

  override def in(change: WindowOperatorPlan => WindowOperatorPlan): KeyGroupTasks = this
}

/** A task of a time stage. */
private final class TimeStageTask(plan: TimeStagePlan) extends KeyGroupTask {
  override type State = SourceStore

  private lazy val decoder = ExchangeDecoder.of(plan)

  override protected lazy val operator: TaskOperator[SourceStore, InternalRow] = {
    val logic = new TimePolicyLogic(plan.policy)
    val clocks: (SourceStore, Long) => StageClock = plan.windows match {
      case None => (store, _) => new SourceClocks(logic, store)
      case Some(windows) =>
        (store, now) => new InputClock(plan.policy, logic, declared, windows, store, now)
    }
    new TimeStage(clocks, if (plan.holdsRows) new NumberedStamps else new StampedUnsafeRows(plan))
  }

  /** The keys of the declared partitions. */
  private lazy val declared: Seq[Array[Byte]] = plan.policy.partitions.map { id =>
    UnsafeProjection.create(Seq(Literal(id))).apply(InternalRow.empty).getBytes
  }

  override def storeOf(state: KeyGroupState): SourceStore = new SourceStore(state)

  override def partitionId(source: Array[Byte]): String = {
    val columns = new UnsafeRow(plan.source.length)
    columns.pointTo(source, source.length)
    if (columns.isNullAt(0)) null else columns.getUTF8String(0).toString
  }

  override def events(rows: Iterator[InternalRow], watermark: Long): Iterator[Event] =
    decoder.events(rows)
}

/** Writes stamps of rows that stay with their map-side tasks, as [[RowStamp]] describes them.
  * Each stamp overwrites the one before it.
  *
  * Rows that broke no rule, and are not behind the watermark, need no stamp: no window of them
  * has fired. Only the first row of a batch always has a stamp, for the watermark of the batch
  * before.
  */
private final class NumberedStamps extends StampedRows[InternalRow] {
  private val numbers = RowStamp.row()
  private var isFirst = true

  override def stamped(row: ByteRange, stamp: Stamp): InternalRow = {
    val verdict = Verdict.of(stamp)
    if (!isFirst && Verdict.isPlain(verdict) && stamp.time >= stamp.watermark) null
    else {
      isFirst = false
      write(RowNumbers.numberOf(row), stamp.time, stamp.watermark, verdict)
    }
  }

  override def unusable(row: ByteRange, reason: DeadLetterReason): InternalRow =
    write(RowNumbers.numberOf(row), Arrival.NoTime, Watermark.NotYet, Verdict.unusable(reason))

  override def read(rows: Event.ReadRows): InternalRow =
    write(RowNumbers.first(rows.task), rows.sum, rows.rows, Verdict.ReadRows)

  override def advanced(advance: Advance): InternalRow =
    write(0L, advance.byRows, advance.after, Verdict.Watermark)

  private def write(number: Long, time: Long, watermark: Long, verdict: Long): UnsafeRow = {
    numbers.setLong(RowStamp.Number, number)
    numbers.setLong(RowStamp.Time, time)
    numbers.setLong(RowStamp.Watermark, watermark)
    numbers.setLong(RowStamp.Verdict, verdict)
    numbers
  }
}

/** Writes stamps into the rows themselves. The map side has left room for them. Each row
  * overwrites the one before it.
  */
private final class StampedUnsafeRows(plan: TimeStagePlan) extends StampedRows[InternalRow] {
  private val timeAt = plan.row.indexWhere(_.exprId == plan.time.exprId)
  private val watermarkAt = plan.row.length
  private val verdictAt = watermarkAt + 1
  private val shared = new UnsafeRow(plan.width)
  private val empty = {
    val types = plan.row.map(_.dataType) ++ Seq.fill(2)(org.apache.spark.sql.types.LongType)
    val nothing = types.map(Literal(null, _))
    UnsafeProjection.create(nothing).apply(InternalRow.empty).copy()
  }

  override def stamped(row: ByteRange, stamp: Stamp): InternalRow = {
    view(row)
    // A dropped row keeps its own time, for its dead letter.
    if (stamp.dropped == null) shared.setLong(timeAt, stamp.time)
    write(shared, stamp.watermark, Verdict.of(stamp))
  }

  override def unusable(row: ByteRange, reason: DeadLetterReason): InternalRow = {
    view(row)
    write(shared, Watermark.NotYet, Verdict.unusable(reason))
  }

  override def advanced(advance: Advance): InternalRow = {
    empty.setLong(timeAt, advance.byRows)
    write(empty, advance.after, Verdict.Watermark)
  }

  private def view(row: ByteRange): Unit =
    shared.pointTo(row.bytes, UnsafeRows.offset(row), row.length)

  private def write(row: UnsafeRow, watermark: Long, verdict: Long): UnsafeRow = {
    row.setLong(watermarkAt, watermark)
    row.setLong(verdictAt, verdict)
    row
  }
}
