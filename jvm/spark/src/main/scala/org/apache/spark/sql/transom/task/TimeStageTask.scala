package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.exchange.{ExchangeDecoder, JudgementRow, JudgementRowKind, RowNumbers}
import org.apache.spark.sql.transom.planned.{TimeStagePlan, WindowOperatorPlan}

import transom.engine.judge._
import transom.engine.runtime._
import transom.engine.state.{ByteRange, KeyGroupState}
import transom.engine.time.Advance

/** The tasks of a time stage. */
final case class TimeStageTasks(plan: TimeStagePlan) extends KeyGroupTasks {
  override def create(): KeyGroupTask = new TimeStageTask(plan)

  override def hasSparkWatermark: Boolean = false

  override def in(change: WindowOperatorPlan => WindowOperatorPlan): KeyGroupTasks = this
}

/** A task of a time stage. */
private final class TimeStageTask(plan: TimeStagePlan) extends KeyGroupTask {
  override type State = SourceStore

  private lazy val decoder = ExchangeDecoder.of(plan)

  override protected lazy val operator: TaskOperator[SourceStore, InternalRow] = {
    val logic = new TimePolicyLogic(plan.policy)
    val judgeOf: (SourceStore, Long) => Judge = plan.windows match {
      case None => (store, _) => new SourceWatermarks(logic, store)
      case Some(windows) =>
        (store, now) => new PartitionWatermarks(plan.policy, logic, declared, windows, store, now)
    }
    new TimeStage(
      judgeOf,
      if (plan.holdsRows) new HeldRowJudgements(plan) else new JudgedUnsafeRows(plan))
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

  override def inputs(rows: Iterator[InternalRow], watermark: Long): Iterator[GroupInput] =
    decoder.inputs(rows)
}

/** The output rows of a time stage. The windows behind the stage follow its watermark. */
private abstract class TimeStageRows(plan: TimeStagePlan) extends JudgedRows[InternalRow] {
  private val own = TaskWatermark.of(plan.name)

  override def advance(to: Advance): Unit = own.advance = to
}

/** Writes judgements on rows that stay with their map-side tasks, as [[JudgementRow]] describes
  * them. Each row overwrites the one before it.
  *
  * Rows that broke no rule, and are not behind the watermark, need no judgement: no window of
  * them has fired.
  */
private final class HeldRowJudgements(plan: TimeStagePlan) extends TimeStageRows(plan) {
  private val shared = JudgementRow.row()

  override def judged(row: ByteRange, judgement: Judgement): InternalRow = {
    import judgement._
    val code = judgement.code
    if (code == Judgement.Plain && time >= watermark) null
    else write(JudgementRowKind.Judged, RowNumbers.numberOf(row), time, watermark, code)
  }

  override def read(rows: GroupInput.ReadRows): InternalRow =
    write(JudgementRowKind.Read, RowNumbers.first(rows.task), rows.sum, rows.rows, 0L)

  private def write(
      kind: JudgementRowKind,
      number: Long,
      time: Long,
      watermark: Long,
      code: Long): UnsafeRow = {
    shared.setLong(JudgementRow.Kind, kind.code)
    shared.setLong(JudgementRow.Number, number)
    shared.setLong(JudgementRow.Time, time)
    shared.setLong(JudgementRow.Watermark, watermark)
    shared.setLong(JudgementRow.Code, code)
    shared
  }
}

/** Writes judgements into the rows themselves. The map side has left room for them. Each row
  * overwrites the one before it.
  */
private final class JudgedUnsafeRows(plan: TimeStagePlan) extends TimeStageRows(plan) {
  private val timeAt = plan.row.indexWhere(_.exprId == plan.time.exprId)
  private val watermarkAt = plan.row.length
  private val shared = new UnsafeRow(plan.width)

  override def judged(row: ByteRange, judgement: Judgement): InternalRow = {
    shared.pointTo(row.bytes, UnsafeRows.offset(row), row.length)
    // A dropped row keeps its own time, for its dead letter.
    if (judgement.dropped == null) shared.setLong(timeAt, judgement.time)
    shared.setLong(watermarkAt, judgement.watermark)
    shared.setLong(watermarkAt + 1, judgement.code)
    shared
  }
}
