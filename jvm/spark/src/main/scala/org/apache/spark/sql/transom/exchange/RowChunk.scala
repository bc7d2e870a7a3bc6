package org.apache.spark.sql.transom.exchange

import java.util.Arrays

import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.unsafe.Platform

import transom.engine.operator.Event
import transom.engine.state.ByteRange

/** Buffers rows of one key group for the exchange, in the order in which they are read.
  *
  * {{{
  * key length int, value length int, input length int, flags int, time long,
  * late watermark of the row long, if flagged; key, value, input
  * }}}
  *
  * Flag 1 says that the row is partly late, and flag 2 that it has a late watermark of its own.
  * The value holds the columns that the engine reads, or the accumulator of the row. The whole
  * input row is present only if it may have to be emitted as a late row. Lengths are multiples of
  * 8.
  *
  * @param fullSize
  *   the size in bytes at which the chunk is full
  */
final class RowChunk(fullSize: Int) {
  private var held = Array.emptyByteArray
  private var position = 0

  def isEmpty: Boolean = position == 0

  def isFull: Boolean = position >= fullSize

  /** @param lateWatermark
    *   the watermark by which this row is late, in the engine's convention; none if it is that of
    *   the chunk
    */
  def add(
      key: ByteRange,
      value: ByteRange,
      input: ByteRange,
      time: Long,
      isPartlyLate: Boolean,
      lateWatermark: Option[Long]): Unit = {
    val needed = RowChunk.HeaderSize + 8 + key.length + value.length + input.length
    if (needed > held.length - position)
      held = Arrays.copyOf(
        held,
        math.max(RowChunk.Least, math.max(2 * held.length, Math.addExact(position, needed))))
    val at = UnsafeRows.ArrayOffset + position
    Platform.putInt(held, at, key.length)
    Platform.putInt(held, at + 4, value.length)
    Platform.putInt(held, at + 8, input.length)
    val flags = (if (isPartlyLate) RowChunk.PartlyLate else 0) |
      (if (lateWatermark.isDefined) RowChunk.OwnWatermark else 0)
    Platform.putInt(held, at + 12, flags)
    Platform.putLong(held, at + 16, time)
    position += RowChunk.HeaderSize
    // Without a closure, because this runs for every row.
    if (lateWatermark.isDefined) {
      Platform.putLong(held, at + RowChunk.HeaderSize, lateWatermark.get)
      position += 8
    }
    put(key)
    put(value)
    put(input)
  }

  private def put(part: ByteRange): Unit = {
    System.arraycopy(part.bytes, part.offset, held, position, part.length)
    position += part.length
  }

  /** Returns a copy of all rows and empties the chunk. */
  def take(): Array[Byte] = {
    val bytes = Arrays.copyOf(held, position)
    position = 0
    // A single large row must not occupy memory for the rest of the task.
    if (held.length > 2 * fullSize) held = Array.emptyByteArray
    bytes
  }
}

/** Reads the rows of a chunk into an event. The next row overwrites the event. */
final class RowChunkReader(chunk: Array[Byte], to: Event.Row) {
  private var position = 0

  def hasNext: Boolean = position < chunk.length

  /** Reads the next row into the event. The chunk has no gap, windows or watermark of the row. */
  def read(): Unit = {
    val at = UnsafeRows.ArrayOffset + position
    position += RowChunk.HeaderSize
    val flags = Platform.getInt(chunk, at + 12)
    if ((flags & RowChunk.OwnWatermark) != 0) {
      to.arrival.watermark = Platform.getLong(chunk, at + RowChunk.HeaderSize)
      position += 8
    }
    point(to.key, Platform.getInt(chunk, at))
    point(to.value, Platform.getInt(chunk, at + 4))
    point(to.input, Platform.getInt(chunk, at + 8))
    to.isPartlyLate = (flags & RowChunk.PartlyLate) != 0
    to.arrival.time = Platform.getLong(chunk, at + 16)
  }

  private def point(part: ByteRange, length: Int): Unit = {
    part.set(chunk, position, length)
    position += length
  }
}

/** The format of a chunk. */
private object RowChunk {
  final val HeaderSize = 24
  final val PartlyLate = 1
  final val OwnWatermark = 2

  private final val Least = 1 << 10
}
