package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row that no window can take, whatever the watermark, on its way over the exchange.
  *
  * {{{
  * reason int, whether it has a time int, time long, row
  * }}}
  */
final class DeadLetter(record: Array[Byte]) {
  private val in = ByteBuffer.wrap(record)

  def reason: String = DeadLetter.reasons(in.getInt(0))

  /** Its time in microseconds, if it has one that can be used. */
  def time: Option[Long] = if (in.getInt(4) == 0) None else Some(in.getLong(8))

  /** Points at the row itself. */
  def row(to: UnsafeRow): UnsafeRow = {
    val from = DeadLetter.HeaderSize
    to.pointTo(record, UnsafeRows.ArrayOffset + from, record.length - from)
    to
  }
}

object DeadLetter {
  final val NoTime = 0
  final val TimeOutOfRange = 1
  final val BadGap = 2
  final val BadWindows = 3
  final val TooManyWindows = 4
  private val reasons =
    Seq("no_time", "time_out_of_range", "bad_gap", "bad_windows", "too_many_windows")
  private final val HeaderSize = 16

  // What Spark's timestamps are documented to reach: the years 1 to 9999.
  private final val FirstTime = -62135596800000000L
  private final val LastTime = 253402300799999999L

  def isInRange(time: Long): Boolean = time >= FirstTime && time <= LastTime

  def write(reason: Int, time: Option[Long], row: Array[Byte]): Array[Byte] =
    ByteBuffer
      .allocate(HeaderSize + row.length)
      .putInt(reason)
      .putInt(time.size)
      .putLong(time.getOrElse(0L))
      .put(row)
      .array
}
