package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

/** Buffers segments of one key group for the exchange, each with its slice. If there are many
  * slices, each segment holds few accumulators. An exchange row costs nearly the same whatever
  * its size, so many segments share one row.
  *
  * {{{
  * slice long, length long, segment
  * }}}
  *
  * @param fullSize
  *   the size in bytes at which the batch is full
  */
private final class SegmentBatch(fullSize: Int) {
  private val held = ArrayBuffer.empty[(Long, Array[Byte])]
  private var size = 0

  def isEmpty: Boolean = held.isEmpty

  def isFull: Boolean = size >= fullSize

  def add(slice: Long, segment: Array[Byte]): Unit = {
    held += ((slice, segment))
    size += SegmentBatch.HeaderSize + segment.length
  }

  /** Returns all segments and empties the batch. */
  def take(): Array[Byte] = {
    val out = ByteBuffer.allocate(size)
    held.foreach { case (slice, segment) =>
      out.putLong(slice).putLong(segment.length.toLong).put(segment)
    }
    held.clear()
    size = 0
    out.array
  }
}

/** Reads segment batches. */
private object SegmentBatch {
  private final val HeaderSize = 16

  def read(bytes: Array[Byte]): Iterator[(Long, Array[Byte])] =
    new AbstractIterator[(Long, Array[Byte])] {
      private val in = ByteBuffer.wrap(bytes)
      override def hasNext: Boolean = in.hasRemaining
      override def next(): (Long, Array[Byte]) = {
        val slice = in.getLong()
        val length = in.getLong().toInt
        val from = in.position()
        in.position(from + length)
        (slice, Arrays.copyOfRange(bytes, from, from + length))
      }
    }
}
