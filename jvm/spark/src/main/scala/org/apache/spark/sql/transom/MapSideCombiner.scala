package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection

import transom.engine.Grid
import transom.engine.log.{AccumulatorTables, SessionTables, SliceTables}
import transom.engine.spec.LateRows

/** Tells late rows apart, folds the others by key into slices or sessions, and hands these on as
  * sorted segments, those of a key group together.
  */
private final class MapSideCombiner(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSideEncoder(plan, rows) {
  import plan.{input, lateWatermark, operatorPlan}

  private val windows = operatorPlan.windows
  private val lateness = windows.lateness(lateWatermark)
  private val tagsLate = operatorPlan.lateRows != LateRows.No
  private val tagsPartly = operatorPlan.lateRows == LateRows.Partly
  // A late row may still join an open session, which only its key group knows.
  private val keepsLate = tagsLate || operatorPlan.isSession
  private val isKeyed = operatorPlan.layout == KeyedLayout

  private val aggregation = new PartialAggregation(operatorPlan, input)
  private val tables: AccumulatorTables = windows match {
    case _: GridWindows => new SliceTables(aggregation.initial)
    case SessionWindows(gap, inclusive) => new SessionTables(gap, inclusive, aggregation.initial)
  }

  // What a row adds to objects is not known; it is hardly more than what they read of it.
  private lazy val toInputs = UnsafeProjection.create(operatorPlan.inputs, input)

  // Segments are written as they are asked for, which is over once rows are taken again.
  override protected def onOutputExhausted(): Unit = if (tables.isEmpty) aggregation.clear()

  override protected def add(row: InternalRow, time: Long): Unit = {
    val slice = windows.sliceOf(time)
    if (slice == Grid.NoSlice) counts.inGaps += 1
    else if (isKeyed) {
      // What becomes of a row when one of its windows has fired is for its key to say.
      if (lateness.isPartlyLate(slice))
        out = Iterator.single(late(row, time, LateRecord.Late))
      else add(row, time, slice)
    } else if (!lateness.isLate(time, slice)) {
      add(row, time, slice)
      if (tagsPartly && lateness.isPartlyLate(slice)) {
        counts.latePartly += 1
        out ++= Iterator.single(late(row, time, LateRecord.Partly))
      }
    } else if (keepsLate) out = Iterator.single(late(row, time, LateRecord.Late))
    else counts.late += 1
  }

  private def add(row: InternalRow, time: Long, slice: Long): Unit = {
    UnsafeRows.bytesOf(toKey(row), key)
    val at = tables.locate(key, slice, time)
    aggregation.update(tables.array, at, row)
    if (!aggregation.inPlace) tables.usage.bytes += toInputs(row).getSizeInBytes
    if (tables.usage.bytes > MapSideEncoder.MaxHeld) out ++= drain()
  }

  private def late(row: InternalRow, time: Long, reason: Int): InternalRow = {
    UnsafeRows.bytesOf(toKey(row), key)
    val own = if (tagsLate) toRow(row).getBytes else Array.emptyByteArray
    val record = LateRecord.write(reason, time, key, aggregation.accumulatorOf(row), own)
    exchangeRow(groupOfKey, ExchangeFormat.Late, nextPosition(), record)
  }

  override protected def drain(): Iterator[InternalRow] = {
    val batches = Array.fill(operatorPlan.keyGroups)(new SegmentBatch)
    def batchRow(group: Int): InternalRow =
      exchangeRow(group, ExchangeFormat.Segments, nextPosition(), batches(group).take())
    val full = for {
      (slice, group, segment) <- tables.drain(operatorPlan.keyGroups)(aggregation.encode)
      _ = batches(group).add(slice, segment)
      if batches(group).isFull
    } yield batchRow(group)
    full ++ batches.indices.iterator.filterNot(batches(_).isEmpty).map(batchRow)
  }
}
