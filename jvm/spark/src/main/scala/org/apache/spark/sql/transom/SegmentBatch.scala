package org.apache.spark.sql.transom

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

/** Segments of one key group on their way through the exchange, each with its slice. Where slices
  * are many they hold a few records each, and what a row costs there hardly depends on its size.
  *
  * {{{
  * slice long, length long, segment
  * }}}
  */
private final class SegmentBatch {
  private val held = ArrayBuffer.empty[(Long, Array[Byte])]
  private var size = 0

  def isEmpty: Boolean = held.isEmpty

  def isFull: Boolean = size >= ExchangeFormat.FullPayload

  def add(slice: Long, segment: Array[Byte]): Unit = {
    held += ((slice, segment))
    size += SegmentBatch.HeaderSize + segment.length
  }

  /** All segments; what is added next begins anew. */
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
