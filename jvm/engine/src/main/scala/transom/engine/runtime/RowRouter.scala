package transom.engine.runtime

import transom.engine.spec.LateRows
import transom.engine.time.Watermark
import transom.engine.window.{Grid, SessionSlices, SliceAssigner}

/** What the map side does with a row that has a usable time. */
sealed trait Route

/** The values of [[Route]]. */
object Route {

  /** The row is in a gap between windows: count the row. */
  case object InGap extends Route

  /** Add the row to the accumulator of its key and slice. */
  case object Combine extends Route

  /** Some windows of the row have fired. Combine the row for its other windows, and also send the
    * row alone for the side output.
    */
  case object CombineAndReport extends Route

  /** Send the row alone. Only the operator can decide which windows accept the row. */
  case object Alone extends Route

  /** The row is late, and no side output receives late rows: count the row. */
  case object Late extends Route
}

/** Routes the rows of a map side that combines rows. Not thread-safe.
  *
  * @param forKeyedLayout
  *   whether the rows go to the keyed layout and not to a log
  * @param lateRows
  *   which late rows go to the side output
  */
final class RowRouter(slices: SliceAssigner, forKeyedLayout: Boolean, lateRows: LateRows) {
  private val lateness = slices.lateness()
  // A late row may still join an open session.
  private val keepsLate = lateRows != LateRows.No || slices.isInstanceOf[SessionSlices]
  private val reportsPartly = lateRows == LateRows.Partly

  /** The slice of the last routed row. Only `route` sets it. */
  var slice: Long = Grid.NoSlice

  /** The watermark by which windows had fired before this batch, in the engine's convention. The
    * host sets it before the first row.
    */
  var watermarkBefore: Long = Watermark.NotYet

  /** The instant until which windows must fire before the last routed row is added to its slice;
    * `Watermark.NotYet` if the row need not wait.
    *
    * A row waits if some of its windows fire in this batch, and the row is too late for them.
    */
  def waitsFor(lateWatermark: Long): Long =
    if (lateWatermark <= watermarkBefore || !lateness.isPartlyLate(slice, lateWatermark))
      Watermark.NotYet
    else {
      val end = lateness.lastFired(slice, lateWatermark)
      if (end <= watermarkBefore) Watermark.NotYet else end
    }

  /** Returns the route of a row, and sets `slice`.
    *
    * @param time
    *   the time of the row in the engine's convention
    * @param lateWatermark
    *   the watermark by which the row is late, in the engine's convention
    */
  def route(time: Long, lateWatermark: Long): Route = {
    slice = slices.sliceOf(time)
    if (slice == Grid.NoSlice) Route.InGap
    else if (forKeyedLayout) {
      if (lateness.isPartlyLate(slice, lateWatermark)) Route.Alone else Route.Combine
    } else if (lateness.isLate(time, slice, lateWatermark)) {
      if (keepsLate) Route.Alone else Route.Late
    } else if (reportsPartly && lateness.isPartlyLate(slice, lateWatermark))
      Route.CombineAndReport
    else Route.Combine
  }
}
