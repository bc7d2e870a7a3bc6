package org.apache.spark.sql.transom

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.log.LateRow

/** The rows of a stage's output other than fired windows, which come out of the fold as they are.
  * All have the same columns: those of a fired window or, if late rows are handed on, of tagged
  * rows, and in a stream the counts behind them.
  */
final class OutputRows(stage: WindowStage) {
  private val types = stage.outputColumns.map(_.dataType).toArray
  private val project = UnsafeProjection.create(types)
  private val row = new UnsafeRow(stage.row.length)
  private val query = TaskContext.get().getLocalProperty(StreamExecution.QUERY_ID_KEY)

  def counts(counts: InternalRow): InternalRow = {
    val columns = new GenericInternalRow(types.length)
    columns.update(types.length - 1, counts)
    project(columns).copy()
  }

  def late(late: LateRow, judgedBy: Long, nowMs: Long): InternalRow = {
    val carried = LateRecord.carried(late)
    val shift = stage.windows.shift
    val missed = stage.windows.missed(late.time, judgedBy).map(w => InternalRow(w.start, w.end))
    val columns = new GenericInternalRow(types.length)
    columns.update(0, UTF8String.fromString(OutputRows.LateTag))
    columns.update(
      2,
      InternalRow(
        LateBytes.row(carried, row).copy(),
        UTF8String.fromString(reason(carried)),
        ArrayData.toArrayData(missed.toArray[Any]),
        late.time + shift,
        judgedBy + shift,
        UTF8String.fromString(stage.name),
        UTF8String.fromString(query),
        nowMs * 1000L))
    project(columns).copy()
  }

  private def reason(carried: transom.engine.log.Slice): String =
    if (LateBytes.reason(carried) == LateBytes.Partly) "late_partly"
    else if (stage.isSession) "late_session"
    else "late"
}

object OutputRows {
  val ResultsTag = "results"
  val LateTag = "late"

  def windowType(time: DataType): StructType =
    StructType(Seq(StructField("start", time), StructField("end", time)))

  def lateType(row: StructType, time: DataType): StructType =
    StructType(
      Seq(
        StructField("row", row, nullable = false),
        StructField("reason", StringType, nullable = false),
        StructField(
          "missed_windows",
          ArrayType(windowType(time), containsNull = false),
          nullable = false),
        StructField("time", time, nullable = false),
        StructField("watermark", time, nullable = false),
        StructField("operator", StringType, nullable = false),
        StructField("query", StringType),
        StructField("at", TimestampType, nullable = false)))
}
