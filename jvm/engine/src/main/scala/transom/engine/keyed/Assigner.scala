package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.{GlobalGrid, Grid, Sessions, TimeWindow}
import transom.engine.spec._

/** Puts rows into windows. */
sealed abstract class Assigner {

  /** Adds the windows of a row.
    *
    * @param index
    *   how many rows of the key came before
    */
  def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit

  /** What windows end by. */
  def timeline: Timeline

  /** The instant from which on a window gets no more rows, where it ends. */
  def endOf(window: TimeWindow): Long = window.end

  /** The instant at which a window begins. */
  def startOf(window: TimeWindow): Long = window.start

  /** Whether windows of a key that meet become one. */
  def isMerging: Boolean = false

  /** Whether windows that only touch become one too. */
  def isInclusive: Boolean = true
}

object Assigner {

  /** @param timeline
    *   what the windows go by, unless they have no end
    */
  def of(window: Window, timeline: Timeline): Assigner = window match {
    case grid: GridWindow => new GridAssigner(Grid.of(grid), timeline)
    case Session(gap, inclusive, _) => new SessionAssigner(Some(gap), inclusive, timeline)
    case DynamicSession(_, inclusive, _) => new SessionAssigner(None, inclusive, timeline)
    case Custom(_, merging) => new ListedAssigner(merging, timeline)
    case Global => GlobalAssigner
    case count: Count if count.isNumbered => new CountAssigner(count.size, count.step)
    // Flink's countWindow(size, slide): trigger and evictor do the rest (flink.md 1.10).
    case _: Count => GlobalAssigner
  }
}

/** Windows on a fixed grid. */
final class GridAssigner(grid: Grid, override val timeline: Timeline) extends Assigner {

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit = {
    val slice = if (row.slice == Grid.NoSlice) grid.sliceOf(row.time) else row.slice
    if (slice != Grid.NoSlice) {
      var window = grid.firstWindow(slice, Long.MinValue)
      while (window != null && grid.holds(window, slice)) {
        windows += window
        window = if (grid.isOverlapping || grid.isCumulative) grid.nextWindow(window) else null
      }
    }
  }

  override def endOf(window: TimeWindow): Long = grid.endOf(window)

  override def startOf(window: TimeWindow): Long = grid.instantOf(window.start)
}

/** Windows that stay open while rows keep arriving.
  *
  * @param gap
  *   the same for all rows, or none if each row brings its own. A row's gap reaches forward only:
  *   a shorter one never pulls the end of a session back (flink.md 1.6)
  */
final class SessionAssigner(
    gap: Option[Long],
    override val isInclusive: Boolean,
    override val timeline: Timeline)
    extends Assigner {

  private val isFixed = gap.isDefined
  private val fixed = gap.getOrElse(0L)

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += Sessions.windowOf(row.time, if (isFixed) fixed else row.gap)

  override def isMerging: Boolean = true
}

/** Windows that each row brings along. */
final class ListedAssigner(override val isMerging: Boolean, override val timeline: Timeline)
    extends Assigner {

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows ++= row.windows
}

/** One window for all time. */
object GlobalAssigner extends Assigner {

  private val window = TimeWindow(0L, GlobalGrid.EndOfTime)

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += window

  override def timeline: Timeline = Timeline.Endless
}

/** Windows of `size` rows of a key, a new one every `slide` rows: from the row at `k * slide`,
  * counted from 0, to before the row at `k * slide + size`.
  */
final class CountAssigner(size: Long, val slide: Long) extends Assigner {

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit = {
    val last = index - index % slide
    var start = last - (size - 1) / slide * slide
    while (start <= last) {
      if (start >= 0 && index < start + size) windows += TimeWindow(start, start + size)
      start += slide
    }
  }

  override def timeline: Timeline = Timeline.Endless

  override def endOf(window: TimeWindow): Long = GlobalGrid.EndOfTime
}
