package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** What a task has seen of its input rows; handed on, a row of counts a task. */
final class RowCounts {
  var in: Long = 0L
  var late: Long = 0L
  var latePartly: Long = 0L
  var inGaps: Long = 0L
  var withoutTime: Long = 0L
  var outOfRange: Long = 0L
  var withBadWindows: Long = 0L

  def bytes: Array[Byte] =
    ByteBuffer
      .allocate(56)
      .putLong(in)
      .putLong(late)
      .putLong(latePartly)
      .putLong(inGaps)
      .putLong(withoutTime)
      .putLong(outOfRange)
      .putLong(withBadWindows)
      .array

  /** Adds what another task has seen. */
  def add(bytes: Array[Byte]): Unit = {
    val other = ByteBuffer.wrap(bytes)
    in += other.getLong()
    late += other.getLong()
    latePartly += other.getLong()
    inGaps += other.getLong()
    withoutTime += other.getLong()
    outOfRange += other.getLong()
    withBadWindows += other.getLong()
  }

  /** As a column of a key group output, see [[RowCounts.schema]]. */
  def row: InternalRow =
    InternalRow(in, late, latePartly, inGaps, withoutTime, outOfRange, withBadWindows)
}

object RowCounts {
  val names: Seq[String] =
    Seq(
      "rows_in",
      "rows_late",
      "rows_late_partly",
      "rows_in_gaps",
      "rows_without_time",
      "rows_out_of_range",
      "rows_with_bad_windows")
  val schema: StructType = StructType(names.map(StructField(_, LongType, nullable = false)))
}
