package org.apache.spark.sql.transom

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row that cannot be assigned to a window, as a payload of the exchange.
  *
  * {{{
  * reason int, 1 if there is a time int, time long, row
  * }}}
  */
final class DeadLetter(record: Array[Byte]) {
  private val in = ByteBuffer.wrap(record)

  /** Why no window can be assigned, as the user sees it. */
  def reason: String = DeadLetter.reasons(in.getInt(0))

  /** The time of the row in microseconds, or None if the row has no usable time. */
  def time: Option[Long] = if (in.getInt(4) == 0) None else Some(in.getLong(8))

  /** Points `to` at the bytes of the row, and returns `to`. */
  def row(to: UnsafeRow): UnsafeRow = {
    val from = DeadLetter.HeaderSize
    to.pointTo(record, UnsafeRows.ArrayOffset + from, record.length - from)
    to
  }
}

/** Reasons of dead letters, and their encoding. */
object DeadLetter {
  final val NoTime = 0
  final val TimeOutOfRange = 1
  final val BadGap = 2
  final val BadWindows = 3
  final val TooManyWindows = 4
  private val reasons =
    Seq("no_time", "time_out_of_range", "bad_gap", "bad_windows", "too_many_windows")
  private final val HeaderSize = 16

  // The documented range of Spark's timestamps: the years 1 to 9999.
  private final val FirstTime = -62135596800000000L
  private final val LastTime = 253402300799999999L

  /** Whether a time in microseconds is in the range of Spark's timestamps. */
  def isInRange(time: Long): Boolean = time >= FirstTime && time <= LastTime

  /** Encodes a dead letter.
    *
    * @param reason
    *   one of the constants above
    * @param time
    *   microseconds, if the row has a usable time
    * @param row
    *   bytes of an `UnsafeRow`
    */
  def write(reason: Int, time: Option[Long], row: Array[Byte]): Array[Byte] =
    ByteBuffer
      .allocate(HeaderSize + row.length)
      .putInt(reason)
      .putInt(time.size)
      .putLong(time.getOrElse(0L))
      .put(row)
      .array
}
