package org.apache.spark.sql.transom.exchange

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.transom.aggregate.{FinalAggregation, PartialAggregation}
import org.apache.spark.sql.transom.operator.KeyedLayout

import transom.engine.combine.{AccumulatorTables, MemoryUsage, SessionTables, SliceTables}
import transom.engine.operator._
import transom.engine.time.Watermark

/** Combines the on-time rows of a task into one accumulator per key and slice, or per key and
  * session. Emits the accumulators as sorted segments, batched by key group. Late rows cross the
  * exchange one by one.
  */
private final class CombiningMapSide(plan: MapSidePlan, rows: Iterator[InternalRow])
    extends MapSide(plan, rows) {
  import plan.{input, operatorPlan}

  private val router = new RowRouter(
    operatorPlan.slices,
    operatorPlan.layout == KeyedLayout,
    operatorPlan.settings.lateRows)
  private val aggregation = new PartialAggregation(operatorPlan, input)
  private lazy val merger = new FinalAggregation(operatorPlan)
  private val usage = new MemoryUsage
  private val onTime = newTables()

  // The rows that wait until windows have fired, by the end of these windows.
  private val waiting = mutable.LongMap.empty[AccumulatorTables]
  private val chunk = new RowChunk(limits.payload)

  // The growth of accumulators that hold objects is unknown. The size of their input columns is
  // the estimate.
  private lazy val toInputs = UnsafeProjection.create(operatorPlan.inputs, input)

  // `drain` encodes accumulators lazily, so the objects are cleared only after its iterator is
  // exhausted.
  override protected def onOutputExhausted(): Unit =
    if (onTime.isEmpty && waiting.valuesIterator.forall(_.isEmpty)) aggregation.clear()

  override protected def startBatch(): Unit = router.firedBefore = firedBefore

  override protected def add(row: InternalRow, time: Long): Unit =
    router.route(time, lateWatermark) match {
      case Route.Combine => combine(row, time)
      case Route.InGap => counts.add(RowCounts.InGaps)
      case Route.Late => counts.add(RowCounts.Late)
      case Route.Alone => out = Iterator.single(alone(row, time, isPartlyLate = false))
      case Route.CombineAndReport =>
        combine(row, time)
        counts.add(RowCounts.LatePartly)
        out ++= Iterator.single(alone(row, time, isPartlyLate = true))
    }

  private def combine(row: InternalRow, time: Long): Unit = {
    readKey(row)
    val waitsFor = router.waitsFor(lateWatermark)
    val tables =
      if (waitsFor == Watermark.NotYet) onTime
      else waiting.getOrElseUpdate(waitsFor, newTables())
    val at = tables.locate(key, router.slice, time)
    aggregation.update(tables.array, at, row)
    if (!aggregation.inPlace) usage.bytes += toInputs(row).getSizeInBytes
    if (usage.bytes > limits.combined) out ++= drain()
  }

  private def newTables(): AccumulatorTables = operatorPlan.slices match {
    case _: GridSlices => new SliceTables(aggregation.initial, usage)
    case sessions: SessionSlices =>
      new SessionTables(sessions.gap, sessions.inclusive, aggregation.initial, usage, merger)
  }

  private def alone(row: InternalRow, time: Long, isPartlyLate: Boolean): InternalRow = {
    readKey(row)
    chunk.add(key, aggregation.accumulatorOf(row), inputOf(row), time, isPartlyLate, ownWatermark)
    encoder.rows(groupOfKey, chunk, firedBefore)
  }

  override protected def drain(): Iterator[InternalRow] =
    drain(onTime, Watermark.NotYet) ++ waiting.iterator.flatMap { case (end, tables) =>
      drain(tables, end)
    }

  private def drain(tables: AccumulatorTables, after: Long): Iterator[InternalRow] = {
    val batches = Array.fill(operatorPlan.keyGroups)(new SegmentBatch(limits.payload))
    def encoded(group: Int) =
      if (after == Watermark.NotYet) encoder.segments(group, batches(group), firedBefore)
      else encoder.waitingSegments(group, batches(group), after)
    val full = for {
      (slice, group, segment) <- tables.drain(operatorPlan.keyGroups)(aggregation.encode)
      _ = batches(group).add(slice, segment)
      if batches(group).isFull
    } yield encoded(group)
    full ++ batches.indices.iterator.filterNot(batches(_).isEmpty).map(encoded)
  }
}
