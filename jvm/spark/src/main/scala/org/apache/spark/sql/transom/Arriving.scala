package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import transom.engine.Grid
import transom.engine.keyed.Arrival
import transom.engine.log.{ByteRange, Cursor, LateRow}

/** Reads what has come over the exchange for single keys. Points at a record of one key until the
  * next is asked for.
  */
trait Arriving {
  val key = new ByteRange

  /** What the engine folds. */
  def record: UnsafeRow

  /** The row itself, if it may have to be handed on as late. */
  def row: UnsafeRow

  def open(exchanged: InternalRow): Unit

  /** Steps to the next record; false if there is none. */
  def next(): Boolean

  /** Tells the engine where the record belongs. */
  def tell(arrival: Arrival): Unit
}

/** Reads accumulators: of the rows that a key has in a slice, or of one row that may be late. */
final class AccumulatorReader(stage: WindowStage) extends Arriving {
  override val record = new UnsafeRow(stage.buffers.length)
  override val row = new UnsafeRow(stage.row.length)
  private var parcel = Iterator.empty[(Long, Array[Byte])]
  private var segment = new Cursor(Iterator.empty)
  private var single: Option[LateRow] = None
  private var slice = Grid.NoSlice
  private var time = Arrival.NoTime

  override def open(exchanged: InternalRow): Unit = {
    val payload = exchanged.getBinary(Exchanged.Payload)
    if (exchanged.getInt(Exchanged.Kind) == Exchanged.Late) {
      single = Some(LateRecord.read(payload))
    } else {
      parcel = Parcel.read(payload)
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
      while (!isThere && parcel.hasNext) {
        val (start, records) = parcel.next()
        slice = start
        segment = new Cursor(Iterator.single(records))
        isThere = segment.advance()
      }
      if (isThere) point(segment.key, segment.accumulator)
      isThere
  }

  override def tell(arrival: Arrival): Unit = {
    arrival.slice = slice
    arrival.time = time
  }

  private def point(key: ByteRange, accumulator: ByteRange): Unit = {
    this.key.set(key)
    record.pointTo(accumulator.bytes, UnsafeRows.offset(accumulator), accumulator.length)
  }
}
