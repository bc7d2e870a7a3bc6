package org.apache.spark.sql.transom

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

import transom.engine.state.ByteRange
import transom.engine.window.Arrival

/** Buffers rows of one key group for the exchange, in the order in which they are read.
  *
  * {{{
  * key length int, record length int, row length int, unused int, key, record, row
  * }}}
  *
  * The record holds the columns that the engine reads. The whole row is present only if it may
  * have to be emitted as a late row. Lengths are multiples of 8.
  */
final class RowChunk {
  private var held = Array.emptyByteArray
  private var position = 0

  def isEmpty: Boolean = position == 0

  def isFull: Boolean = position >= ExchangeFormat.FullPayload

  def add(key: ByteRange, record: ByteRange, row: ByteRange): Unit = {
    val needed = RowChunk.HeaderSize + key.length + record.length + row.length
    if (needed > held.length - position)
      held = Arrays.copyOf(
        held,
        math.max(RowChunk.Least, math.max(2 * held.length, Math.addExact(position, needed))))
    val at = UnsafeRows.ArrayOffset + position
    Platform.putInt(held, at, key.length)
    Platform.putInt(held, at + 4, record.length)
    Platform.putInt(held, at + 8, row.length)
    position += RowChunk.HeaderSize
    put(key)
    put(record)
    put(row)
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
    if (held.length > RowChunk.Most) held = Array.emptyByteArray
    bytes
  }
}

/** Reads rows from chunks. Key, record and row are overwritten by the next row. */
final class ChunkReader(operatorPlan: WindowOperatorPlan, rows: KeyedRows)
    extends ExchangeReader {
  override val record = new UnsafeRow(operatorPlan.record.length)
  override val row = new UnsafeRow(operatorPlan.row.length)
  private val rowWindows = new RowWindowReader(operatorPlan.settings.window)
  private var chunk = Array.emptyByteArray
  private var position = 0

  override def open(exchangeRow: InternalRow): Unit = {
    chunk = exchangeRow.getBinary(ExchangeFormat.Payload)
    position = 0
  }

  override def next(): Boolean =
    if (position == chunk.length) false
    else {
      val at = UnsafeRows.ArrayOffset + position
      val keyLength = Platform.getInt(chunk, at)
      val recordLength = Platform.getInt(chunk, at + 4)
      val rowLength = Platform.getInt(chunk, at + 8)
      position += RowChunk.HeaderSize
      key.set(chunk, position, keyLength)
      position += keyLength
      record.pointTo(chunk, UnsafeRows.ArrayOffset + position, recordLength)
      position += recordLength
      row.pointTo(chunk, UnsafeRows.ArrayOffset + position, rowLength)
      position += rowLength
      true
    }

  override def readInto(arrival: Arrival): Unit = {
    arrival.time = rows.timeOf(record)
    rowWindows.read(record, arrival)
  }
}

/** Sizes of a chunk in bytes. */
private object RowChunk {
  final val HeaderSize = 16

  private final val Least = 1 << 10
  private final val Most = 2 * ExchangeFormat.FullPayload
}
