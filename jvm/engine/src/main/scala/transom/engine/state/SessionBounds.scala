package transom.engine.state

import java.nio.ByteBuffer

/** The bounds of a session record: the times of its first and last row, in microseconds.
  *
  * The bounds are stored in front of the accumulator. Instances are mutable and reusable.
  */
final class SessionBounds {
  var first: Long = 0L
  var last: Long = 0L

  def set(first: Long, last: Long): this.type = {
    this.first = first
    this.last = last
    this
  }

  /** Writes the bounds to `out` at offset `at`. */
  def write(out: ByteBuffer, at: Int): Unit = out.putLong(at, first).putLong(at + 8, last)
}

/** Reads the bounds of a session record. */
object SessionBounds {

  /** Size of the bounds in bytes. */
  final val Size = 16

  def first(record: Cursor): Long = record.long(0)
  def last(record: Cursor): Long = record.long(8)
}
