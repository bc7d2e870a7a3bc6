package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.exchange.{ExchangeDecoder, ExchangeFormat, PayloadKind}
import org.apache.spark.sql.transom.planned.{TaskLimits, WindowOperatorPlan}

import transom.engine.judge.CommonWatermark
import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime._
import transom.engine.state.{KeyGroupState, Limits, SegmentEntries, SegmentStore}
import transom.engine.time.{Advance, Timeline, Watermark}

/** The tasks of a window operator. */
final case class WindowTasks(operatorPlan: WindowOperatorPlan) extends KeyGroupTasks {
  override def create(): KeyGroupTask = Operators.taskOf(operatorPlan)

  override def hasSparkWatermark: Boolean = operatorPlan.hasSparkWatermark

  override def in(change: WindowOperatorPlan => WindowOperatorPlan): KeyGroupTasks =
    WindowTasks(change(operatorPlan))
}

/** A task of a window operator. */
private[task] abstract class WindowTask(operatorPlan: WindowOperatorPlan) extends KeyGroupTask {
  import operatorPlan.convention

  protected lazy val limits: Limits = TaskLimits.current

  private lazy val decoder = ExchangeDecoder.of(operatorPlan)

  override def inputs(rows: Iterator[InternalRow], watermark: Long): Iterator[GroupInput] =
    decoder.inputs(if (isSource) rows.tapEach(note) else rows) ++
      Iterator.single(new GroupInput.Advanced(Advance.to(ownWatermark(watermark))))

  /** The watermark of Spark, if the windows follow it. A watermark after the last valid time ends
    * the input of all windows. A delay of the user's may have moved it before the end of time.
    */
  private def ownWatermark(watermark: Long): Long =
    if (operatorPlan.hasSparkWatermark) convention.watermarkIn(watermark)
    else if (watermark == Watermark.NotYet || RowRules.isInRange(watermark)) Watermark.NotYet
    else Timeline.EndOfTime

  // In a stream an operator over the results may follow this operator.
  private def isSource: Boolean = operatorPlan.offersWatermark && operatorPlan.query.isDefined

  /** The watermarks that such an operator can follow, and their values for an own watermark. */
  private lazy val offered: Seq[(TaskWatermark, Long => Long)] = {
    val ofResults = new OutputWatermark(operatorPlan.spec)
    val ofLifetimes = operatorPlan.lifetimes.map(TaskWatermark.of(_) -> ofResults.of _)
    (TaskWatermark.of(operatorPlan.name) -> convention.watermarkOut _) +: ofLifetimes.toSeq
  }

  /** Notes the watermark of an exchange row, for the operator over the results. */
  private def note(row: InternalRow): Unit = offered.foreach { case (own, out) =>
    ExchangeFormat.kindOf(row) match {
      case PayloadKind.Rows | PayloadKind.Segments =>
        val before = out(row.getLong(ExchangeFormat.LateWatermark))
        if (before > own.advance.before) own.advance = own.advance.copy(before = before)
      case PayloadKind.Watermark =>
        own.advance = own.advance.max(ExchangeFormat.advance(row).map(out))
      case _ =>
    }
  }
}

/** A task over slice logs or session logs. */
private[task] final class LogTask(operatorPlan: WindowOperatorPlan)
    extends WindowTask(operatorPlan) {
  override type State = IndexedSeq[SegmentStore]

  override protected lazy val operator: TaskOperator[IndexedSeq[SegmentStore], InternalRow] =
    Operators.overLogs(operatorPlan, limits)

  override def storeOf(state: KeyGroupState): IndexedSeq[SegmentStore] =
    operatorPlan.spec.window.members.indices.map(new SegmentEntries(state, _))
}

/** A task in the keyed layout. */
private[task] final class KeyedTask(operatorPlan: WindowOperatorPlan)
    extends WindowTask(operatorPlan) {
  override type State = KeyStore

  override protected lazy val operator: TaskOperator[KeyStore, InternalRow] =
    Operators.overKeys(operatorPlan, limits, CommonWatermark.open)

  override def storeOf(state: KeyGroupState): KeyStore =
    new KeyStore(state, operatorPlan.spec)
}
