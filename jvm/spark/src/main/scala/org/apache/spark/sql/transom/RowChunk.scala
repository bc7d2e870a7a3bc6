package org.apache.spark.sql.transom

import java.util.Arrays

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
