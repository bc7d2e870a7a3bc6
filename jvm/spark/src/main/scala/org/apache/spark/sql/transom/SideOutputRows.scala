package org.apache.spark.sql.transom

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine
import transom.engine.time.Watermark

/** Builds the output rows of late rows and dead letters. The row is a struct in one of the last
  * columns of the output; all other columns are null. Create one per task, on an executor.
  */
final class SideOutputRows(operatorPlan: WindowOperatorPlan) {
  private val query = TaskContext.get().getLocalProperty(StreamExecution.QUERY_ID_KEY)
  private val wholeReason = if (operatorPlan.isSession) "late_session" else "late"
  private val deadAt = operatorPlan.outputWidth - 1
  private val lateAt = if (operatorPlan.deadLetters) deadAt - 1 else deadAt
  private val deadRow = new UnsafeRow(operatorPlan.row.length)

  /** Builds the output row of a late row.
    *
    * @param time
    *   the time of the row in microseconds since 1970, minus `timeShift`
    * @param lateWatermark
    *   the late watermark in microseconds since 1970, minus `watermarkShift`
    * @param missedWindows
    *   the windows that had fired, with bounds in microseconds since 1970
    * @param nowMs
    *   the wall clock in milliseconds since 1970
    */
  def late(
      row: UnsafeRow,
      time: Long,
      lateWatermark: Long,
      missedWindows: Seq[engine.window.TimeWindow],
      isPartly: Boolean,
      nowMs: Long): InternalRow =
    in(
      lateAt,
      row,
      if (isPartly) "late_partly" else wholeReason,
      missedWindows,
      Some(time + operatorPlan.timeShift),
      lateWatermark,
      nowMs)

  /** Builds the output row of a dead letter from its exchange row. */
  def deadLetter(exchangeRow: InternalRow, nowMs: Long): InternalRow = {
    val letter = new DeadLetter(exchangeRow.getBinary(ExchangeFormat.Payload))
    val lateWatermark = exchangeRow.getLong(ExchangeFormat.LateWatermark)
    in(deadAt, letter.row(deadRow), letter.reason, Nil, letter.time, lateWatermark, nowMs)
  }

  private def in(
      column: Int,
      row: UnsafeRow,
      reason: String,
      missedWindows: Seq[engine.window.TimeWindow],
      time: Option[Long],
      lateWatermark: Long,
      nowMs: Long): InternalRow = {
    val columns = new GenericInternalRow(operatorPlan.outputWidth)
    columns.update(
      column,
      InternalRow(
        row.copy(),
        UTF8String.fromString(reason),
        ArrayData.toArrayData(missedWindows.map(w => InternalRow(w.start, w.end)).toArray[Any]),
        time.fold[Any](null)(Long.box),
        if (lateWatermark == Watermark.NotYet) null
        else lateWatermark + operatorPlan.watermarkShift,
        UTF8String.fromString(operatorPlan.name),
        UTF8String.fromString(query),
        nowMs * 1000L))
    columns
  }
}

/** The type of a side output column. */
object SideOutputRows {
  def schema(row: StructType, time: DataType): StructType =
    StructType(
      Seq(
        StructField("row", row, nullable = false),
        StructField("reason", StringType, nullable = false),
        StructField(
          "missed_windows",
          ArrayType(OutputLayout.windowType(time), containsNull = false),
          nullable = false),
        StructField("time", time),
        StructField("watermark", time),
        StructField("operator", StringType, nullable = false),
        StructField("query", StringType),
        StructField("at", TimestampType, nullable = false)))
}
