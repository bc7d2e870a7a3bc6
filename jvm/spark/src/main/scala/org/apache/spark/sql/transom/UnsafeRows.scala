package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

import transom.engine.log.ByteRange

/** Rows and the ranges that hold their bytes. */
object UnsafeRows {
  val ArrayOffset: Long = Platform.BYTE_ARRAY_OFFSET.toLong

  def offset(range: ByteRange): Long = ArrayOffset + range.offset

  /** Points at a row's bytes, which must lie in an array; they are copied if they do not. */
  def bytesOf(row: UnsafeRow, to: ByteRange): ByteRange = row.getBaseObject match {
    case array: Array[Byte] =>
      to.set(array, (row.getBaseOffset - ArrayOffset).toInt, row.getSizeInBytes)
    case _ =>
      val copy = row.getBytes
      to.set(copy, 0, copy.length)
  }
}
