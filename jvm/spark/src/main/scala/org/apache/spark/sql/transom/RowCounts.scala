package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/** Counts input rows by what became of them. Each map-side task sends its counts through the
  * exchange as one row. Not thread safe.
  */
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

  /** Adds the encoded counts of another task. */
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

  /** The counts as a column of a key group output. Its type is [[RowCounts.schema]]. */
  def row: InternalRow =
    InternalRow(in, late, latePartly, inGaps, withoutTime, outOfRange, withBadWindows)
}

/** Names and type of the counts, in the order of [[RowCounts.row]]. */
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
