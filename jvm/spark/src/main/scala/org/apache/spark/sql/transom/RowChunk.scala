package org.apache.spark.sql.transom

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

import transom.engine.log.Slice

/** Rows of a key group on their way through the exchange, in the order in which they came.
  *
  * {{{
  * key length int, record length int, row length int, 0 int, key, record, row
  * }}}
  *
  * The record is what the engine needs to know of a row. The row itself is there only if it may
  * have to be handed on as late. Lengths are multiples of 8.
  */
final class RowChunk {
  private var held = new Array[Byte](1 << 10)
  private var position = 0

  def size: Int = held.length

  def add(key: Slice, record: Slice, row: Slice): Unit = {
    val needed = RowChunk.HeaderSize + key.length + record.length + row.length
    if (needed > held.length - position)
      held = Arrays.copyOf(held, math.max(2 * held.length, Math.addExact(position, needed)))
    val at = UnsafeRows.ArrayOffset + position
    Platform.putInt(held, at, key.length)
    Platform.putInt(held, at + 4, record.length)
    Platform.putInt(held, at + 8, row.length)
    position += RowChunk.HeaderSize
    put(key)
    put(record)
    put(row)
  }

  private def put(part: Slice): Unit = {
    System.arraycopy(part.bytes, part.offset, held, position, part.length)
    position += part.length
  }

  def bytes: Array[Byte] = Arrays.copyOf(held, position)
}

private object RowChunk {
  val HeaderSize = 16
}

/** Reads chunks. Points at a row of one until the next is asked for. */
final class ChunkReader(stage: WindowStage) {
  val key = new Slice
  val record = new UnsafeRow(stage.record.length)
  val row = new UnsafeRow(stage.row.length)
  private var chunk = Array.emptyByteArray
  private var position = 0

  def open(chunk: Array[Byte]): Unit = {
    this.chunk = chunk
    position = 0
  }

  /** Steps to the next row; false if there is none. */
  def next(): Boolean =
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
}
