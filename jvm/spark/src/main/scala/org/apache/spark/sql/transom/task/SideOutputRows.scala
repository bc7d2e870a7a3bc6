package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.{WindowOperatorPlan, WindowType}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine
import transom.engine.runtime.{DeadLetterReason, LateReason, SideOutput, SideReason}
import transom.engine.state.ByteRange

/** Builds the output rows of side outputs. The input row is a struct in one of the last columns
  * of the output; all other columns are null. Create one per task, on an executor.
  */
final class SideOutputRows(operatorPlan: WindowOperatorPlan) extends SideOutput[InternalRow] {
  private val query = UTF8String.fromString(operatorPlan.query.orNull)
  private val output = operatorPlan.output
  private val inputRow = new UnsafeRow(operatorPlan.row.length)

  override def row(
      input: ByteRange,
      reason: SideReason,
      missed: engine.window.MissedWindows,
      time: Option[Long],
      watermark: Option[Long],
      clock: Long): InternalRow = {
    inputRow.pointTo(input.bytes, UnsafeRows.offset(input), input.length)
    val columns = new GenericInternalRow(output.width)
    columns.update(
      ordinalOf(reason),
      InternalRow(
        inputRow.copy(),
        UTF8String.fromString(reason.name),
        ArrayData.toArrayData(missed.listed.map(w => InternalRow(w.start, w.end)).toArray[Any]),
        missed.isTruncated,
        time.fold[Any](null)(Long.box),
        watermark.fold[Any](null)(Long.box),
        UTF8String.fromString(operatorPlan.name),
        query,
        clock))
    columns
  }

  override def watermark(watermark: Long, clock: Long): InternalRow = {
    val columns = new GenericInternalRow(output.width)
    columns.update(output.watermarks.get, InternalRow(watermark, clock))
    columns
  }

  // The engine emits only the side outputs that the spec requests, and these have a column.
  private def ordinalOf(reason: SideReason): Int = (reason match {
    case _: LateReason => output.late
    case _: DeadLetterReason => output.deadLetter
  }).get
}

/** The types of side output columns. */
object SideOutputRows {

  /** The type of the column with the watermarks of results. */
  def watermarks(time: DataType): StructType = StructType(
    Seq(
      StructField("watermark", time, nullable = false),
      StructField("at", TimestampType, nullable = false)))

  def schema(row: StructType, time: DataType): StructType =
    StructType(
      Seq(
        StructField("row", row, nullable = false),
        StructField("reason", StringType, nullable = false),
        StructField(
          "missed_windows",
          ArrayType(WindowType.of(time), containsNull = false),
          nullable = false),
        StructField("missed_windows_truncated", BooleanType, nullable = false),
        StructField("time", time),
        StructField("watermark", time),
        StructField("operator", StringType, nullable = false),
        StructField("query", StringType),
        StructField("processed_at", TimestampType, nullable = false)))
}
