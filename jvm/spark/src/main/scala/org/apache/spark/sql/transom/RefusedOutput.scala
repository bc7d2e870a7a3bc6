package org.apache.spark.sql.transom

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine
import transom.engine.Watermark

/** Rows that no window took as a stage hands them on: late rows and dead letters in the last of
  * its columns, the others are null.
  */
final class RefusedOutput(stage: WindowStage) {
  private val query = TaskContext.get().getLocalProperty(StreamExecution.QUERY_ID_KEY)
  private val wholeReason = if (stage.isSession) "late_session" else "late"
  private val deadAt = stage.firedColumns - 1
  private val lateAt = if (stage.deadLetters) deadAt - 1 else deadAt
  private val deadRow = new UnsafeRow(stage.row.length)

  /** @param time
    *   of the row, and
    * @param lateWatermark
    *   the watermark that it met, both as the engine counts
    * @param missed
    *   in instants
    */
  def late(
      row: UnsafeRow,
      time: Long,
      lateWatermark: Long,
      missed: Seq[engine.TimeWindow],
      isPartly: Boolean,
      nowMs: Long): InternalRow =
    in(
      lateAt,
      row,
      if (isPartly) "late_partly" else wholeReason,
      missed,
      Some(time + stage.timeShift),
      lateWatermark,
      nowMs)

  /** A dead letter as it came over the exchange. */
  def dead(exchanged: InternalRow, nowMs: Long): InternalRow = {
    val letter = new DeadLetter(exchanged.getBinary(Exchanged.Payload))
    val lateWatermark = exchanged.getLong(Exchanged.LateWatermark)
    in(deadAt, letter.row(deadRow), letter.reason, Nil, letter.time, lateWatermark, nowMs)
  }

  private def in(
      column: Int,
      row: UnsafeRow,
      reason: String,
      missed: Seq[engine.TimeWindow],
      time: Option[Long],
      lateWatermark: Long,
      nowMs: Long): InternalRow = {
    val columns = new GenericInternalRow(stage.firedColumns)
    columns.update(
      column,
      InternalRow(
        row.copy(),
        UTF8String.fromString(reason),
        ArrayData.toArrayData(missed.map(w => InternalRow(w.start, w.end)).toArray[Any]),
        time.fold[Any](null)(Long.box),
        if (lateWatermark == Watermark.NotYet) null else lateWatermark + stage.watermarkShift,
        UTF8String.fromString(stage.name),
        UTF8String.fromString(query),
        nowMs * 1000L))
    columns
  }
}

object RefusedOutput {
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
