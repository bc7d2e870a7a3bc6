package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.unsafe.Platform

import transom.engine.state.{ByteRange, StateReader, StateWriter}

/** Buffers the times of rows that stay with their map-side task, for the exchange.
  *
  * {{{
  * key of the source, and for each row its differences to the row before it:
  * number, time, arrival, order
  * }}}
  *
  * Neighbouring rows are alike, so most differences need one to three bytes. Not thread-safe.
  */
final class RowTimes {
  private val written = new StateWriter
  private var number = 0L
  private var time = 0L
  private var arrival = 0L
  private var order = 0L

  /** The number of bytes. */
  def length: Int = written.length

  /** Adds the times of a row.
    *
    * @param source
    *   key of the source, which is the same for all rows
    * @param rowNumber
    *   number of the row, see [[RowNumbers]]
    * @param rowOrder
    *   the order of the row besides its arrival; the same number for all rows if there is none
    */
  def add(
      source: ByteRange,
      rowNumber: Long,
      rowTime: Long,
      rowArrival: Long,
      rowOrder: Long): Unit = {
    if (length == 0) written.array(source.bytes, source.offset, source.length)
    written.signed(rowNumber - number)
    written.signed(rowTime - time)
    written.signed(rowArrival - arrival)
    written.signed(rowOrder - order)
    number = rowNumber
    time = rowTime
    arrival = rowArrival
    order = rowOrder
  }

  /** Returns a copy of the bytes, and empties the buffer. */
  def take(): Array[Byte] = {
    number = 0L
    time = 0L
    arrival = 0L
    order = 0L
    written.take()
  }
}

/** Reads what [[RowTimes]] has written. */
final class RowTimesReader(bytes: Array[Byte]) {
  private val in = new StateReader(bytes)
  private val sourceLength = in.skipArray()
  private val sourceAt = in.offset - sourceLength

  var number: Long = 0L
  var time: Long = 0L
  var arrival: Long = 0L
  var order: Long = 0L

  /** The key of the source of all rows. */
  def readSource(to: ByteRange): Unit = to.set(bytes, sourceAt, sourceLength): Unit

  def hasNext: Boolean = in.offset < bytes.length

  /** Moves to the next row. */
  def read(): Unit = {
    number += in.signed()
    time += in.signed()
    arrival += in.signed()
    order += in.signed()
  }
}

/** The number of a row, which stands for all of its columns but its times. */
object RowTimes {

  /** The order of a row whose order column is null. */
  final val NoOrder = Long.MinValue

  def bytesOf(number: Long): Array[Byte] = {
    val bytes = new Array[Byte](8)
    write(number, bytes)
    bytes
  }

  def write(number: Long, to: Array[Byte]): Unit =
    Platform.putLong(to, UnsafeRows.ArrayOffset, number)

  def numberOf(row: ByteRange): Long = Platform.getLong(row.bytes, UnsafeRows.offset(row))
}
