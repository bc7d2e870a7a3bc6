package transom.engine.conformance.driver

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.operator._
import transom.engine.spec.WindowSpec
import transom.engine.state.SegmentWriter
import transom.engine.window.TimeConvention

/** Routes rows as the map side of a log does: rows that are not late become segments. */
final class CombinedRows(
    slices: SliceAssigner,
    forKeyedLayout: Boolean,
    spec: WindowSpec,
    counts: RowCounts) {
  private val convention = TimeConvention.of(spec.window)

  /** @param append
    *   writes a row to the segment of its slice
    */
  def events(rows: Seq[Row], lateWatermark: Long)(
      append: (SegmentWriter, Row) => Unit): Seq[Event] = {
    val router = new RowRouter(slices, forKeyedLayout, spec.lateRows, lateWatermark)
    val combined = mutable.LinkedHashMap.empty[Long, ArrayBuffer[Row]]
    val alone = ArrayBuffer.empty[Event]
    def combine(row: Row): Unit =
      combined.getOrElseUpdate(router.slice, ArrayBuffer.empty) += row
    def send(row: Row, isPartlyLate: Boolean): Unit =
      alone += Operator.event(row, row.accumulator, convention, lateWatermark, isPartlyLate)
    rows.foreach { row =>
      router.route(convention.timeIn(row.time.getOrElse(0L))) match {
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
    val segments = combined.iterator.map { case (slice, held) =>
      val event = new Event.Segment
      event.slice = slice
      event.bytes = Operator.segment(held.toSeq)(append)
      event.lateWatermark = lateWatermark
      event
    }
    segments.toVector ++ alone
  }
}
