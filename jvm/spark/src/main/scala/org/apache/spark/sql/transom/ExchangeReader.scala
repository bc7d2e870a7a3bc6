package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import transom.engine.session.LateRow
import transom.engine.state.{ByteRange, Cursor}
import transom.engine.window.{Arrival, Grid}

/** Reads records of single keys from rows in the exchange format.
  *
  * Call `open` for a row, and then `next` until it returns false. The contents of `key`, `record`
  * and `row` are valid until the next call of `next`.
  */
trait ExchangeReader {
  val key = new ByteRange

  /** The current record: an input row, or an accumulator if the map side combines rows. */
  def record: UnsafeRow

  /** The input row of the current record, for the side output of late rows. */
  def row: UnsafeRow

  def open(exchangeRow: InternalRow): Unit

  /** Advances to the next record. Returns false if there is none. */
  def next(): Boolean

  /** Sets the fields of `arrival` that place the record in event time. */
  def readInto(arrival: Arrival): Unit
}

/** Reads accumulators: one per key and slice, or one of a single row that may be late. */
final class AccumulatorReader(operatorPlan: WindowOperatorPlan) extends ExchangeReader {
  override val record = new UnsafeRow(operatorPlan.buffers.length)
  override val row = new UnsafeRow(operatorPlan.row.length)
  private var batch = Iterator.empty[(Long, Array[Byte])]
  private var segment = new Cursor(Iterator.empty)
  private var single: Option[LateRow] = None
  private var slice = Grid.NoSlice
  private var time = Arrival.NoTime

  override def open(exchangeRow: InternalRow): Unit = {
    val payload = exchangeRow.getBinary(ExchangeFormat.Payload)
    if (exchangeRow.getInt(ExchangeFormat.Kind) == ExchangeFormat.Late) {
      single = Some(LateRecord.read(payload))
    } else {
      batch = SegmentBatch.read(payload)
      time = Arrival.NoTime
    }
  }

  override def next(): Boolean = single match {
    case Some(late) =>
      single = None
      LateRecord.row(late, row)
      slice = Grid.NoSlice
      time = late.time
      point(late.key, late.accumulator)
      true
    case None =>
      var isThere = segment.advance()
      while (!isThere && batch.hasNext) {
        val (start, records) = batch.next()
        slice = start
        segment = new Cursor(Iterator.single(records))
        isThere = segment.advance()
      }
      if (isThere) point(segment.key, segment.accumulator)
      isThere
  }

  override def readInto(arrival: Arrival): Unit = {
    arrival.slice = slice
    arrival.time = time
  }

  private def point(key: ByteRange, accumulator: ByteRange): Unit = {
    this.key.set(key)
    record.pointTo(accumulator.bytes, UnsafeRows.offset(accumulator), accumulator.length)
  }
}
