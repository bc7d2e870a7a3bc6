package transom.engine.window

import scala.collection.View
import scala.collection.mutable.ArrayBuffer

import transom.engine.time.{Ticks, Timeline, Watermark, Zone}

/** Windows on a fixed grid, the same for every key. */
trait GridWindow extends Window {

  /** Shift of the grid, in microseconds. */
  def offsetUs: Long

  /** Which bound of a window is inclusive. */
  def closed: Closed

  /** The time zone whose wall-clock time defines the grid. */
  def timeZone: String

  /** The grid of the windows. */
  def grid: Grid

  /** The shortest distance between the ends of two windows that follow each other. */
  def distanceUs: Long

  /** How people name a slice. */
  protected def sliceName: String

  /** The same windows in another time zone. */
  protected def in(timeZone: String): GridWindow

  override final def sliceText: Option[String] = Some(sliceName)

  override final def inUtc: Window = in("UTC")

  override final def assigner(timeline: Timeline): Assigner = new GridAssigner(grid, timeline)

  override def slices: Either[String, SliceAssigner] = Right(new GridSlices(Vector(grid)))

  override final def convention: TimeConvention = TimeConvention.of(closed)

  override final def isEndless: Boolean = false

  override final def hasKnownEnd: Boolean = true

  override final def takesLifetimes: Boolean = true

  override final def hasWindowBefore: Boolean = true

  override final def isCombinable: Boolean = stagger == Stagger.Aligned
}

/** A fixed grid of windows, cut into slices so that each window consists of whole slices.
  *
  * Slices and windows are in grid time, in microseconds: instants in UTC, and wall-clock time in
  * any other zone. The start of a slice identifies it. Watermarks, row times and timers are
  * instants.
  *
  * Grids are serializable. Several threads may share a grid.
  */
trait Grid extends Serializable {

  /** The slice that contains `instant`. `Grid.NoSlice` if `instant` is in a gap between windows.
    */
  final def sliceOf(instant: Long): Long = sliceAt(timeAt(instant))

  /** The slice that contains a grid time. `Grid.NoSlice` if the time is in a gap. */
  final def sliceAt(gridTime: Long): Long =
    if (isInGap(gridTime)) Grid.NoSlice else boundaryAt(gridTime)

  /** The grid time of an instant. */
  def timeAt(instant: Long): Long

  /** The start of the slice, or of the part of a gap, that contains a grid time. */
  def boundaryAt(gridTime: Long): Long

  /** Whether a grid time is in a gap between windows. */
  def isInGap(gridTime: Long): Boolean = false

  /** Whether there are gaps between windows. */
  def hasGaps: Boolean = false

  /** The end of a slice, or of a part of a gap, exclusive, in grid time. */
  def sliceEnd(slice: Long): Long

  /** A length in microseconds. The bounds of slices, and of parts of gaps, are a whole number of
    * these lengths apart.
    */
  def unit: Long

  /** The first window that contains `slice` and ends after the instant `after`. Null if there is
    * none.
    */
  def firstWindow(slice: Long, after: Long): TimeWindow

  /** The first window that ends after `instant`; null at the end of time. */
  def firstAfter(instant: Long): TimeWindow

  /** The window that fires next after `window`; null at the end of time. */
  def nextWindow(window: TimeWindow): TimeWindow

  /** The instant at which the last window that contains `slice` ends. From this watermark on,
    * rows of the slice are late.
    */
  def lastEndOf(slice: Long): Long

  /** The instant at which the last window ends that contains `slice` and ends by `instant`;
    * `Watermark.NotYet` if no such window exists. The cost depends neither on the number of
    * windows that contain the slice nor on their sizes.
    */
  final def lastEndBy(slice: Long, instant: Long): Long = {
    val last = lastEndOf(slice)
    if (last <= instant) last
    else if (endOf(firstWindow(slice, Long.MinValue)) > instant) Watermark.NotYet
    else {
      // Doubling the distance finds a window that ends at most two windows before the result.
      var distance = unit
      var window = firstWindow(slice, Ticks.subtract(instant, distance))
      while (endOf(window) > instant) {
        distance *= 2
        window = firstWindow(slice, Ticks.subtract(instant, distance))
      }
      // All windows from here to the last one contain the slice.
      var next = nextWindow(window)
      while (endOf(next) <= instant) {
        window = next
        next = nextWindow(window)
      }
      endOf(window)
    }
  }

  /** The start of the last window that contains `slice`, in grid time. */
  def lastStartOf(slice: Long): Long

  /** The first instant at grid time `gridTime`. A window that starts at `gridTime` begins there.
    */
  def instantOf(gridTime: Long): Long

  /** The instant at which `window` ends: from this watermark on, the window receives no rows.
    *
    * The result is `instantOf(window.end)`, unless clocks go back and show the end of the window
    * twice. Rows then arrive until the second time. If clocks go back exactly to the end of the
    * window, they never show an earlier time again. Then the first time counts.
    */
  def endOf(window: TimeWindow): Long

  /** The instants that bound `window`. */
  final def instantsOf(window: TimeWindow): TimeWindow =
    TimeWindow(instantOf(window.start), endOf(window))

  /** Whether a slice may belong to several windows that do not contain each other. */
  def isOverlapping: Boolean = false

  /** Whether windows share a start, and each window contains the previous window. */
  def isCumulative: Boolean = false

  /** Whether each window of a finer grid is one slice, and lies within one slice of this grid.
    * Requires that both grids have the same grid time.
    */
  final def isFedBy(finer: Grid): Boolean = finer.isInstanceOf[TumblingGrid] && !hasGaps &&
    unit % finer.unit == 0 && (boundaryAt(0L) - finer.boundaryAt(0L)) % finer.unit == 0

  /** Whether `window` contains the whole slice. */
  final def holds(window: TimeWindow, slice: Long): Boolean =
    window.start <= slice && sliceEnd(slice) <= window.end

  /** All windows that a row at `instant` belongs to, in the order in which they fire. */
  final def windowsOf(instant: Long): Seq[TimeWindow] = {
    val slice = sliceOf(instant)
    if (slice == Grid.NoSlice) Nil else windowsWith(slice).toVector
  }

  /** The windows that contain `slice` and end by `instant`, in the order in which they fire, with
    * instants as bounds. The iterator computes a window when it is read. Empty for `NoSlice`.
    */
  final def missed(slice: Long, instant: Long): Iterator[TimeWindow] =
    if (slice == Grid.NoSlice) Iterator.empty
    else windowsWith(slice).takeWhile(endOf(_) <= instant).map(instantsOf)

  private def windowsWith(slice: Long): Iterator[TimeWindow] =
    Iterator
      .iterate(firstWindow(slice, Long.MinValue))(nextWindow)
      .takeWhile(window => window != null && holds(window, slice))
}

object Grid {

  /** Result of `sliceOf` for an instant outside all windows. */
  final val NoSlice = Long.MinValue
}

/** Base of the grids in wall-clock time: converts grid time to instants of a zone. */
private[engine] abstract class ZonedGrid(zone: Zone) extends Grid {

  final def timeAt(instant: Long): Long = zone.local(instant)

  final def instantOf(gridTime: Long): Long = zone.first(gridTime)

  final def endOf(window: TimeWindow): Long = zone.passed(window.end)
}

/** Assigns rows to the windows of a fixed grid, such as tumbling or hopping windows. */
final class GridAssigner(grid: Grid, override val timeline: Timeline) extends Assigner {

  private val hasSeveral = grid.isOverlapping || grid.isCumulative

  override def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    assign(sliceOf(row), Long.MinValue, windows)

  override def assignOpen(
      row: RowContext,
      index: Long,
      closed: Long,
      windows: ArrayBuffer[TimeWindow]): View[TimeWindow] = {
    val slice = sliceOf(row)
    // A row has at most one window of the other grids.
    if (!hasSeveral || closed == Long.MinValue) {
      assign(slice, Long.MinValue, windows)
      View.empty
    } else {
      assign(slice, closed, windows)
      val isOpen =
        slice == Grid.NoSlice || grid.endOf(grid.firstWindow(slice, Long.MinValue)) > closed
      if (isOpen) View.empty else View.fromIteratorProvider(() => grid.missed(slice, closed))
    }
  }

  private def sliceOf(row: RowContext): Long =
    if (row.slice == Grid.NoSlice) grid.sliceOf(row.time) else row.slice

  private def assign(slice: Long, after: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    if (slice != Grid.NoSlice) {
      var window = grid.firstWindow(slice, after)
      while (window != null && grid.holds(window, slice)) {
        windows += window
        window = if (hasSeveral) grid.nextWindow(window) else null
      }
    }

  override def endOf(window: TimeWindow): Long = grid.endOf(window)

  override def startOf(window: TimeWindow): Long = grid.instantOf(window.start)
}
