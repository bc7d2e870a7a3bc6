package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

import transom.engine.state.ByteRange

/** Converts between rows and ranges of bytes. */
object UnsafeRows {
  val ArrayOffset: Long = Platform.BYTE_ARRAY_OFFSET.toLong

  def offset(range: ByteRange): Long = ArrayOffset + range.offset

  /** Points `to` at the bytes of a row. Copies the bytes only if they do not lie in a byte array.
    * Otherwise the range is valid as long as the row.
    */
  def bytesOf(row: UnsafeRow, to: ByteRange): ByteRange = row.getBaseObject match {
    case array: Array[Byte] =>
      to.set(array, (row.getBaseOffset - ArrayOffset).toInt, row.getSizeInBytes)
    case _ =>
      val copy = row.getBytes
      to.set(copy, 0, copy.length)
  }
}
