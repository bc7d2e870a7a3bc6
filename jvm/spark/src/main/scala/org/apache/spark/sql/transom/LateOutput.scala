package org.apache.spark.sql.transom

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine

/** Late rows as a stage hands them on: in the last of its columns, the others are null. */
final class LateOutput(stage: WindowStage) {
  private val query = TaskContext.get().getLocalProperty(StreamExecution.QUERY_ID_KEY)
  private val wholeReason = if (stage.isSession) "late_session" else "late"

  /** @param time
    *   of the row, and
    * @param judgedBy
    *   the watermark that it met, both as the engine counts
    * @param missed
    *   in instants
    */
  def row(
      row: UnsafeRow,
      time: Long,
      judgedBy: Long,
      missed: Seq[engine.TimeWindow],
      isPartly: Boolean,
      nowMs: Long): InternalRow = {
    val columns = new GenericInternalRow(stage.firedColumns)
    columns.update(
      stage.firedColumns - 1,
      InternalRow(
        row.copy(),
        UTF8String.fromString(if (isPartly) "late_partly" else wholeReason),
        ArrayData.toArrayData(missed.map(w => InternalRow(w.start, w.end)).toArray[Any]),
        time + stage.timeShift,
        judgedBy + stage.watermarkShift,
        UTF8String.fromString(stage.name),
        UTF8String.fromString(query),
        nowMs * 1000L))
    columns
  }
}

object LateOutput {
  def schema(row: StructType, time: DataType): StructType =
    StructType(
      Seq(
        StructField("row", row, nullable = false),
        StructField("reason", StringType, nullable = false),
        StructField(
          "missed_windows",
          ArrayType(OutputLayout.windowType(time), containsNull = false),
          nullable = false),
        StructField("time", time, nullable = false),
        StructField("watermark", time, nullable = false),
        StructField("operator", StringType, nullable = false),
        StructField("query", StringType),
        StructField("at", TimestampType, nullable = false)))
}
