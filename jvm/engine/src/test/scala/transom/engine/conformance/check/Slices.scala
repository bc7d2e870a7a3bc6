package transom.engine.conformance.check

import transom.engine.conformance.vector.Scale
import transom.engine.window.{Cumulate, Grid, GridWindow, Hopping, TimeWindow}

/** Computes the values of Flink's slice assigners from a grid. Flink identifies slices and
  * windows by their ends, in milliseconds.
  */
final class Slices(settings: GridWindow, grid: Grid, scale: Scale) {

  def endOf(time: Long): Long = scale.out(grid.sliceEnd(grid.sliceOf(scale.in(time))))

  def windowStart(end: Long): Long = scale.out(windowEnding(end).start)

  /** The slices that no later window needs. For cumulative windows, slices are merged into the
    * first.
    */
  def expiredAfter(end: Long): Seq[Long] = {
    val window = windowEnding(end)
    val first = firstSlice(window)
    settings match {
      case _: Cumulate =>
        val last = Option.when(following(window).isEmpty)(first)
        Seq(end).filter(_ != first) ++ last
      case _ => Seq(first)
    }
  }

  /** The slice that other slices are merged into, if there is one, and the merged slices. */
  def mergedFor(end: Long): (Option[Long], Seq[Long]) = {
    val window = windowEnding(end)
    settings match {
      case _: Cumulate => (Some(firstSlice(window)), Seq(end).filter(_ != firstSlice(window)))
      case _ =>
        val ends = Iterator.iterate(grid.sliceEnd(window.start))(grid.sliceEnd)
        (None, ends.takeWhile(_ <= window.end).map(scale.out).toSeq)
    }
  }

  def nextTrigger(end: Long, empty: Boolean): Option[Long] = settings match {
    case _: Cumulate => following(windowEnding(end)).map(window => scale.out(window.end))
    case _: Hopping if !empty => Some(scale.out(grid.nextWindow(windowEnding(end)).end))
    case _ => None
  }

  private def windowEnding(end: Long): TimeWindow =
    grid.windowsOf(scale.in(end) - 1).find(_.end == scale.in(end)).get

  /** The next window with the same start, if there is one. */
  private def following(window: TimeWindow): Option[TimeWindow] =
    Option(grid.nextWindow(window)).filter(_.start == window.start)

  private def firstSlice(window: TimeWindow): Long = scale.out(grid.sliceEnd(window.start))
}
