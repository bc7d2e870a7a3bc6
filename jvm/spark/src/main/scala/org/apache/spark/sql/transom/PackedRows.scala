package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.log.ByteRange
import transom.engine.spec.{EventTime, LateRows}

/** Hands rows on as they are, many of a key group together, in the order in which they come. */
private final class PackedRows(packing: Packing, rows: Iterator[InternalRow])
    extends Packed(packing, rows) {
  import packing.{input, lateWatermark, stage}

  private val tagsLate = stage.lateRows != LateRows.No
  private val hasTime = stage.settings.time.exists(_.isInstanceOf[EventTime])
  private val placing = new Placing(stage.settings.window)
  private val toRecord = UnsafeProjection.create(stage.record, input)
  private val toOrder =
    if (stage.order.isEmpty) None else Some(UnsafeProjection.create(stage.order, input))
  private val record = new ByteRange
  private val whole = new ByteRange
  private val noRow = new ByteRange

  private val chunks = Array.fill(stage.keyGroups)(new RowChunk)

  override protected def take(row: InternalRow, time: Long): Unit = {
    val known = toRecord(row)
    placing.problem(known) match {
      case None => add(row, known, mayBeLate = time < lateWatermark || placing.isListed)
      case Some(reason) =>
        counts.withBadWindows += 1
        refuse(row, reason, if (hasTime) Some(time + stage.timeShift) else None)
    }
  }

  private def add(row: InternalRow, known: UnsafeRow, mayBeLate: Boolean): Unit = {
    UnsafeRows.bytesOf(toKey(row), key)
    UnsafeRows.bytesOf(known, record)
    // The whole row is needed only if it may turn out to be late.
    val own = if (tagsLate && mayBeLate) UnsafeRows.bytesOf(toRow(row), whole) else noRow
    val group = groupOfKey
    chunks(group).add(key, record, own)
    toOrder match {
      // Rows that are sorted one by one cross the exchange one by one.
      case Some(order) => out = Iterator.single(take(group, order(row)))
      case None => if (chunks(group).isFull) out = Iterator.single(take(group, Packed.noOrder))
    }
  }

  override protected def drain(): Iterator[InternalRow] =
    chunks.indices.iterator.filterNot(chunks(_).isEmpty).map(take(_, Packed.noOrder))

  private def take(group: Int, order: InternalRow): InternalRow =
    sent(group, Exchanged.Rows, nextPlace(), chunks(group).take(), order)
}
