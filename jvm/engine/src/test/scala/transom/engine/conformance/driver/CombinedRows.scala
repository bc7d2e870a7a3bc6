package transom.engine.conformance.driver

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.runtime._
import transom.engine.spec.WindowSpec
import transom.engine.state.SegmentWriter
import transom.engine.time.Watermark
import transom.engine.window.SliceAssigner

/** Routes rows as the map side of a log does: rows that are not late become segments. */
final class CombinedRows(
    slices: SliceAssigner,
    forKeyedLayout: Boolean,
    spec: WindowSpec,
    counts: RowCounts) {
  private val convention = spec.window.convention

  /** Returns the inputs of some rows.
    *
    * @param lateWatermark
    *   the watermark by which windows had fired before the batch, in the engine's convention.
    *   Rows without a watermark of their own are late by it.
    * @param append
    *   writes a row to the segment of its slice
    */
  def inputs(rows: Seq[Row], lateWatermark: Long)(
      append: (SegmentWriter, Row) => Unit): Seq[GroupInput] = {
    val router = new RowRouter(slices, forKeyedLayout, spec.lateRows)
    def metBy(row: Row): Long = row.met.fold(lateWatermark)(convention.watermarkIn)
    router.watermarkBefore = lateWatermark
    val combined = mutable.LinkedHashMap.empty[(Long, Long), ArrayBuffer[Row]]
    val alone = ArrayBuffer.empty[GroupInput]
    def combine(row: Row): Unit =
      combined.getOrElseUpdate(
        (router.waitsFor(metBy(row)), router.slice),
        ArrayBuffer.empty) += row
    def send(row: Row, isPartlyLate: Boolean): Unit =
      alone += Operator.input(row, row.accumulator, convention, lateWatermark, isPartlyLate)
    rows.foreach { row =>
      router.route(convention.timeIn(row.time.getOrElse(0L)), metBy(row)) match {
        case Route.InGap => counts.add(RowCounts.InGaps)
        case Route.Late => counts.add(RowCounts.Late)
        case Route.Combine => combine(row)
        case Route.Alone => send(row, isPartlyLate = false)
        case Route.CombineAndReport =>
          combine(row)
          counts.add(RowCounts.LatePartly)
          send(row, isPartlyLate = true)
      }
    }
    val segments = combined.iterator.map { case ((waitsFor, slice), held) =>
      val input = new GroupInput.Segment
      input.slice = slice
      input.bytes = Operator.segment(held.toSeq)(append)
      input.waits = waitsFor != Watermark.NotYet
      input.lateWatermark = if (input.waits) waitsFor else router.watermarkBefore
      input
    }
    segments.toVector ++ alone
  }
}
