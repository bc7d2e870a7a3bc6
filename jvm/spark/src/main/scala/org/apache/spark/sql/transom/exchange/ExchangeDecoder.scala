package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer

import scala.collection.AbstractIterator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

import transom.engine.operator.{DeadLetterReason, Event}
import transom.engine.window.Grid

/** Reads the events of a key group from rows in the exchange format. Reuses the events. */
final class ExchangeDecoder(operatorPlan: WindowOperatorPlan) {
  private val segment = new Event.Segment
  private val row = new Event.Row
  private val letter = new Event.DeadLetter
  private val rowWindows = new RowWindowReader(operatorPlan)

  def events(exchangeRow: InternalRow): Iterator[Event] = {
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val lateWatermark = exchangeRow.getLong(ExchangeFormat.LateWatermark)
    exchangeRow.getInt(ExchangeFormat.Kind) match {
      case ExchangeFormat.Segments => segments(payload, lateWatermark)
      case ExchangeFormat.Rows => rows(new RowChunkReader(payload, row), lateWatermark)
      case ExchangeFormat.DeadLetter => Iterator.single(deadLetter(payload, lateWatermark))
      case ExchangeFormat.Counts => Iterator.single(new Event.Counts(payload))
      case ExchangeFormat.Tick => Iterator.single(Event.Tick)
    }
  }

  private def segments(payload: Array[Byte], lateWatermark: Long): Iterator[Event] = {
    segment.lateWatermark = lateWatermark
    SegmentBatch.read(payload).map { case (slice, bytes) =>
      segment.slice = slice
      segment.bytes = bytes
      segment
    }
  }

  private def rows(chunk: RowChunkReader, lateWatermark: Long): Iterator[Event] =
    new AbstractIterator[Event] {
      row.arrival.slice = Grid.NoSlice
      row.arrival.watermark = lateWatermark

      override def hasNext: Boolean = chunk.hasNext
      override def next(): Event = {
        chunk.read()
        rowWindows.read(row)
        row
      }
    }

  private def deadLetter(payload: Array[Byte], lateWatermark: Long): Event = {
    val in = ByteBuffer.wrap(payload)
    letter.reason = DeadLetterReason.of(in.getInt())
    val hasTime = in.getInt() != 0
    val time = in.getLong()
    letter.time = if (hasTime) Some(time) else None
    letter.input.set(payload, in.position(), in.remaining())
    letter.lateWatermark = lateWatermark
    letter
  }
}
