package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import transom.engine.Grid
import transom.engine.keyed.Arrival
import transom.engine.log.{ByteRange, Cursor, LateRow}

/** Reads what has come over the exchange for single keys. Points at a record of one key until the
  * next is asked for.
  */
trait ExchangeReader {
  val key = new ByteRange

  /** What the engine folds. */
  def record: UnsafeRow

  /** The row itself, if it may have to be handed on as late. */
  def row: UnsafeRow

  def open(exchangeRow: InternalRow): Unit

  /** Steps to the next record; false if there is none. */
  def next(): Boolean

  /** Sets where the record belongs in the arrival that the engine sees. */
  def readInto(arrival: Arrival): Unit
}

/** Reads accumulators: of the rows that a key has in a slice, or of one row that may be late. */
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
