package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.aggregate.UnsafeRows

import transom.engine.state.ByteRange
import transom.engine.window.Arrival

/** Map side that sends rows without combining them. Packs many rows of a key group into one
  * chunk, in the order in which they are read.
  */
private final class RowMapSide(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSide(plan, rows) {
  import plan.{input, operatorPlan}

  private val rowWindows = new RowWindowReader(operatorPlan)
  private val hasEdges = operatorPlan.settings.hasEdges
  private val toRecord = UnsafeProjection.create(operatorPlan.record, input)
  private val toOrder =
    if (operatorPlan.order.isEmpty) None
    else Some(UnsafeProjection.create(operatorPlan.order, input))
  private val record = new ByteRange
  private val noInput = new ByteRange
  private val chunks = Array.fill(operatorPlan.keyGroups)(new RowChunk(limits.payload))

  override protected def add(row: InternalRow, time: Long): Unit = {
    val read = toRecord(row)
    rowWindows.problem(read, isAdjusted) match {
      case None => send(row, read, time)
      case Some(reason) =>
        counts.add(reason.count)
        emitDeadLetter(row, reason, reported(operatorPlan.convention.timeOut(time)))
    }
  }

  private def send(row: InternalRow, read: UnsafeRow, time: Long): Unit = {
    readKey(row)
    UnsafeRows.bytesOf(read, record)
    // The side output needs the whole input row, but only of rows that may be late, or edges that
    // match no other row.
    val mayBeLate = time < lateWatermark || rowWindows.isListed || isAdjusted || hasEdges
    val group = groupOfKey
    chunks(group).add(
      key,
      record,
      if (mayBeLate) inputOf(row) else noInput,
      if (hasTime) time else Arrival.NoTime,
      isPartlyLate = false,
      ownWatermark)
    toOrder match {
      // The exchange sorts these rows one by one, so each row needs its own exchange row.
      case Some(order) =>
        out = Iterator.single(encoder.rows(group, chunks(group), firedBefore, order(row)))
      case None =>
        if (chunks(group).isFull)
          out = Iterator.single(encoder.rows(group, chunks(group), firedBefore))
    }
  }

  override protected def drain(): Iterator[InternalRow] =
    chunks.indices.iterator
      .filterNot(chunks(_).isEmpty)
      .map(group => encoder.rows(group, chunks(group), firedBefore))
}
