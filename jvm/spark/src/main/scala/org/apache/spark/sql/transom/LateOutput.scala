package org.apache.spark.sql.transom

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.log.LateRow

/** Late rows as a stage hands them on: in the last of its columns, the others are null. */
final class LateOutput(stage: WindowStage) {
  private val row = new UnsafeRow(stage.row.length)
  private val query = TaskContext.get().getLocalProperty(StreamExecution.QUERY_ID_KEY)

  def row(late: LateRow, judgedBy: Long, nowMs: Long): InternalRow = {
    import stage.windows
    val missed = windows.missed(late.time, judgedBy).map(w => InternalRow(w.start, w.end))
    val columns = new GenericInternalRow(stage.firedColumns)
    columns.update(
      stage.firedColumns - 1,
      InternalRow(
        LateRecord.row(late, row).copy(),
        UTF8String.fromString(reason(late)),
        ArrayData.toArrayData(missed.toArray[Any]),
        late.time + windows.timeShift,
        judgedBy + windows.watermarkShift,
        UTF8String.fromString(stage.name),
        UTF8String.fromString(query),
        nowMs * 1000L))
    columns
  }

  private def reason(late: LateRow): String =
    if (LateRecord.isPartly(late)) "late_partly"
    else if (stage.isSession) "late_session"
    else "late"
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
