package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.RowLog
import org.apache.spark.sql.transom.planned.{SubstreamColumns, WindowOperatorPlan}

import transom.engine.judge._
import transom.engine.runtime.TaskOperator
import transom.engine.state.{ByteRange, KeyGroupState}

/** A task of windows over substreams: judges rows by the time policy, and windows them. */
private[task] final class SubstreamTask(operatorPlan: WindowOperatorPlan)
    extends WindowTask(operatorPlan) {
  override type State = SubstreamStore

  private val substreams: SubstreamColumns = operatorPlan.substreams.get

  override protected lazy val operator: TaskOperator[SubstreamStore, InternalRow] = {
    val logic = new TimePolicyLogic(substreams.policy)
    val rows = new SubstreamRecords(operatorPlan, substreams)
    Operators.overKeys(
      operatorPlan,
      limits,
      (store: SubstreamStore, now: Long) =>
        new SubstreamWatermarks(
          substreams.policy,
          logic,
          operatorPlan.convention,
          rows,
          store,
          operatorPlan.spec.rulesSeeEnds,
          now))
  }

  override def storeOf(state: KeyGroupState): SubstreamStore =
    new SubstreamStore(state, operatorPlan.spec)
}

/** Reads the substream of a key, and writes times into records. */
private final class SubstreamRecords(operatorPlan: WindowOperatorPlan, columns: SubstreamColumns)
    extends SubstreamRows {
  private val codec = new RecordCodec(operatorPlan)
  // Null if rows are not logged.
  private val rowLog = RowLog.of(operatorPlan)
  private val key = new UnsafeRow(operatorPlan.keys.length)
  private val toSubstream = UnsafeProjection.create(columns.keys.map { i =>
    val column = operatorPlan.keys(i)
    BoundReference(i, column.dataType, column.nullable)
  })

  override val isKey: Boolean = columns.keys.length == operatorPlan.keys.length

  override def substreamOf(bytes: ByteRange, to: ByteRange): Unit =
    if (isKey) to.set(bytes): Unit
    else {
      key.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
      // The projection reuses its row, and the judge keeps the substream. `getBytes` may return
      // the bytes of the row itself.
      val substream = toSubstream(key).copy().getBytes
      to.set(substream, 0, substream.length): Unit
    }

  override def note(judgement: Judgement, time: Long): Unit =
    if (rowLog != null) {
      import judgement.{broken, dropped, isAdjusted, watermark}
      if (dropped != null) rowLog.dropped(dropped.name, Some(time), watermark)
      else if (isAdjusted) rowLog.moved(broken, judgement.time, watermark)
    }

  override def setTime(value: ByteRange, time: Long): Unit = codec.setTime(value, time)
}
