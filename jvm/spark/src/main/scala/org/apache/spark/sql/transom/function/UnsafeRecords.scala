package org.apache.spark.sql.transom.function

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Writes rows into accumulators, and reads them. */
private object UnsafeRecords {
  def sizeOf(row: UnsafeRow): Int = 4 + row.getSizeInBytes

  def write(row: UnsafeRow, out: ByteBuffer): Unit =
    out.putInt(row.getSizeInBytes).put(row.getBytes): Unit

  def read(in: ByteBuffer, fields: Int): UnsafeRow = {
    val own = new Array[Byte](in.getInt())
    in.get(own)
    val row = new UnsafeRow(fields)
    row.pointTo(own, own.length)
    row
  }
}
