package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection

import transom.engine.combine.{AccumulatorTables, SessionTables, SliceTables}
import transom.engine.spec.LateRows
import transom.engine.window.Grid

/** Combines the on-time rows of a task into one accumulator per key and slice, or per key and
  * session. Emits the accumulators as sorted segments, batched by key group. Late rows cross the
  * exchange one by one.
  */
private final class MapSideCombiner(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSideEncoder(plan, rows) {
  import plan.{input, lateWatermark, operatorPlan}

  private val windows = operatorPlan.windows
  private val lateness = windows.lateness(lateWatermark)
  private val tagsLate = operatorPlan.lateRows != LateRows.No
  private val tagsPartly = operatorPlan.lateRows == LateRows.Partly
  // A late row may still join an open session. Only the key group knows the open sessions.
  private val keepsLate = tagsLate || operatorPlan.isSession
  private val isKeyed = operatorPlan.layout == KeyedLayout

  private val aggregation = new PartialAggregation(operatorPlan, input)
  private val tables: AccumulatorTables = windows match {
    case _: GridWindows => new SliceTables(aggregation.initial)
    case SessionWindows(gap, inclusive) => new SessionTables(gap, inclusive, aggregation.initial)
  }

  // The growth of accumulators of objects is unknown. The size of the columns that they read
  // serves as an estimate.
  private lazy val toInputs = UnsafeProjection.create(operatorPlan.inputs, input)

  // `drain` encodes accumulators lazily, so they can be cleared only once its iterator is
  // exhausted.
  override protected def onOutputExhausted(): Unit = if (tables.isEmpty) aggregation.clear()

  override protected def add(row: InternalRow, time: Long): Unit = {
    val slice = windows.sliceOf(time)
    if (slice == Grid.NoSlice) counts.inGaps += 1
    else if (isKeyed) {
      // Only the state of the key tells what to do with a row of which a window has fired.
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
