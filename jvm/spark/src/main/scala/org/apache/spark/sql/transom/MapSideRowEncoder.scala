package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import transom.engine.spec.{EventTime, LateRows}
import transom.engine.state.ByteRange

/** Encodes rows without combining them. Packs many rows of a key group into one chunk, in the
  * order in which they are read.
  */
private final class MapSideRowEncoder(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSideEncoder(plan, rows) {
  import plan.{input, lateWatermark, operatorPlan}

  private val tagsLate = operatorPlan.lateRows != LateRows.No
  private val hasTime = operatorPlan.settings.time.exists(_.isInstanceOf[EventTime])
  private val rowWindows = new RowWindowReader(operatorPlan.settings.window)
  private val toRecord = UnsafeProjection.create(operatorPlan.record, input)
  private val toOrder =
    if (operatorPlan.order.isEmpty) None
    else Some(UnsafeProjection.create(operatorPlan.order, input))
  private val record = new ByteRange
  private val whole = new ByteRange
  private val noRow = new ByteRange

  private val chunks = Array.fill(operatorPlan.keyGroups)(new RowChunk)

  override protected def add(row: InternalRow, time: Long): Unit = {
    val known = toRecord(row)
    rowWindows.problem(known) match {
      case None => add(row, known, mayBeLate = time < lateWatermark || rowWindows.isListed)
      case Some(reason) =>
        counts.withBadWindows += 1
        emitDeadLetter(row, reason, if (hasTime) Some(time + operatorPlan.timeShift) else None)
    }
  }

  private def add(row: InternalRow, known: UnsafeRow, mayBeLate: Boolean): Unit = {
    UnsafeRows.bytesOf(toKey(row), key)
    UnsafeRows.bytesOf(known, record)
    // Only a row that may be late is needed as a whole, for the side output.
    val own = if (tagsLate && mayBeLate) UnsafeRows.bytesOf(toRow(row), whole) else noRow
    val group = groupOfKey
    chunks(group).add(key, record, own)
    toOrder match {
      // The exchange sorts these rows one by one, so each one needs an exchange row of its own.
      case Some(order) => out = Iterator.single(chunkRow(group, order(row)))
      case None =>
        if (chunks(group).isFull) out = Iterator.single(chunkRow(group, MapSideEncoder.noOrder))
    }
  }

  override protected def drain(): Iterator[InternalRow] =
    chunks.indices.iterator.filterNot(chunks(_).isEmpty).map(chunkRow(_, MapSideEncoder.noOrder))

  private def chunkRow(group: Int, order: InternalRow): InternalRow =
    exchangeRow(group, ExchangeFormat.Rows, nextPosition(), chunks(group).take(), order)
}
