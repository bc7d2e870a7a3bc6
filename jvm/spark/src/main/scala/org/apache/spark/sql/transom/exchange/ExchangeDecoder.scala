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
  private val letters = new LetterReader
  private val rowWindows = new RowWindowReader(operatorPlan)

  def events(exchangeRow: InternalRow): Iterator[Event] = {
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val lateWatermark = exchangeRow.getLong(ExchangeFormat.LateWatermark)
    exchangeRow.getInt(ExchangeFormat.Kind) match {
      case ExchangeFormat.Segments => segments(payload, lateWatermark, waits = false)
      case ExchangeFormat.WaitingSegments => segments(payload, lateWatermark, waits = true)
      case ExchangeFormat.Rows => rows(new RowChunkReader(payload, row), lateWatermark)
      case ExchangeFormat.DeadLetter => Iterator.single(letters.read(exchangeRow))
      case ExchangeFormat.Counts => Iterator.single(new Event.Counts(payload))
      case ExchangeFormat.Tick => Iterator.single(Event.Tick)
      case ExchangeFormat.Watermark =>
        Iterator.single(new Event.Watermark(ExchangeFormat.watermark(exchangeRow), lateWatermark))
    }
  }

  private def segments(
      payload: Array[Byte],
      lateWatermark: Long,
      waits: Boolean): Iterator[Event] = {
    SegmentBatch.read(payload).map { case (slice, bytes) =>
      segment.lateWatermark = lateWatermark
      segment.waits = waits
      segment.slice = slice
      segment.bytes = bytes
      segment
    }
  }

  private def rows(chunk: RowChunkReader, lateWatermark: Long): Iterator[Event] =
    new AbstractIterator[Event] {
      row.arrival.slice = Grid.NoSlice

      override def hasNext: Boolean = chunk.hasNext
      override def next(): Event = {
        row.arrival.watermark = lateWatermark
        chunk.read()
        rowWindows.read(row)
        row
      }
    }
}

/** Reads dead letters from rows in the exchange format. Reuses the event. */
final class LetterReader {
  private val letter = new Event.DeadLetter

  def read(exchangeRow: InternalRow): Event.DeadLetter = {
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    val in = ByteBuffer.wrap(payload)
    letter.reason = DeadLetterReason.all(in.getInt())
    val hasTime = in.getInt() != 0
    val time = in.getLong()
    letter.time = if (hasTime) Some(time) else None
    letter.input.set(payload, in.position(), in.remaining())
    letter.lateWatermark = exchangeRow.getLong(ExchangeFormat.LateWatermark)
    letter
  }
}
