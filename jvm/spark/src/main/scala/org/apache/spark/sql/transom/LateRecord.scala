package org.apache.spark.sql.transom

import java.nio.{ByteBuffer, ByteOrder}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import transom.engine.session.LateRow
import transom.engine.state.{ByteRange, KeyGroups}

/** Encoding of a late row for the exchange.
  *
  * {{{
  * time long, reason int, key length int, accumulator length int, key, accumulator, row
  * }}}
  *
  * The accumulator is that of this row alone. The whole row is present only if the spec requests
  * late rows as a side output.
  */
object LateRecord {
  final val Late = 0
  final val Partly = 1
  private final val HeaderSize = 20

  def hash(key: ByteRange): Long =
    KeyGroups.hash(
      ByteBuffer.wrap(key.bytes).order(ByteOrder.LITTLE_ENDIAN),
      key.offset,
      key.length)

  def write(
      reason: Int,
      time: Long,
      key: ByteRange,
      accumulator: ByteRange,
      row: Array[Byte]): Array[Byte] = {
    val out = ByteBuffer.allocate(HeaderSize + key.length + accumulator.length + row.length)
    out.putLong(time).putInt(reason).putInt(key.length).putInt(accumulator.length)
    out.put(key.bytes, key.offset, key.length)
    out.put(accumulator.bytes, accumulator.offset, accumulator.length)
    out.put(row).array
  }

  def read(record: Array[Byte]): LateRow = {
    val in = ByteBuffer.wrap(record)
    val key = new ByteRange().set(record, HeaderSize, in.getInt(12))
    val accumulator = new ByteRange().set(record, key.offset + key.length, in.getInt(16))
    new LateRow(hash(key), key, in.getLong(0), accumulator)
  }

  def isPartly(late: LateRow): Boolean =
    ByteBuffer.wrap(late.accumulator.bytes).getInt(8) == Partly

  /** Points `to` at the whole row. Shares the bytes of `late`. */
  def row(late: LateRow, to: UnsafeRow): UnsafeRow = {
    val record = late.accumulator.bytes
    val from = late.accumulator.offset + late.accumulator.length
    to.pointTo(record, UnsafeRows.ArrayOffset + from, record.length - from)
    to
  }
}
