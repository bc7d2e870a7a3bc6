package transom.engine.window

import scala.collection.View
import scala.collection.mutable.ArrayBuffer

import transom.engine.time.Timeline

/** Assigns rows to windows, as Flink's `WindowAssigner` does. */
sealed abstract class Assigner {

  /** Appends the windows of a row to `windows`.
    *
    * @param index
    *   number of rows of the key before this row. Only `CountAssigner` uses the number.
    */
  def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit

  /** Appends the windows of a row to `windows`, and may leave out windows that end by `closed`.
    * Returns the windows that are left out, in the order of their ends, with instants as bounds.
    * The view stays valid, and computes a window when it is read.
    */
  def assignOpen(
      row: Arrival,
      index: Long,
      closed: Long,
      windows: ArrayBuffer[TimeWindow]): View[TimeWindow] = {
    assign(row, index, windows)
    View.empty
  }

  /** The kind of time by which the windows end. */
  def timeline: Timeline

  /** The instant at which a window ends. */
  def endOf(window: TimeWindow): Long = window.end

  /** The instant at which a window starts. */
  def startOf(window: TimeWindow): Long = window.start

  /** Whether the bounds of a window are the times of its first and its last row. */
  def boundsFromRows: Boolean = false

  /** The instants between which a window lies. */
  final def instantsOf(window: TimeWindow): TimeWindow =
    TimeWindow(startOf(window), endOf(window))

  /** The instants that bound a window.
    *
    * @param rows
    *   the times of the window's first and last row; used only if `boundsFromRows`
    */
  final def boundsOf(window: TimeWindow, rows: => TimeWindow): TimeWindow =
    if (boundsFromRows) rows else instantsOf(window)

  /** The number of a window among the windows of its key, if windows are numbered. */
  def numberOf(window: TimeWindow): Option[Long] = None

  /** Whether a window is over once its contents are purged. */
  def endsWhenPurged: Boolean = false

  /** The number of rows of a key for `assign`, after one more row.
    *
    * @param isIdle
    *   whether the key has no window, so that only the position within a slide matters
    */
  def countRow(rows: Long, isIdle: Boolean): Long = rows

  /** Whether windows of one key that meet are merged. */
  def isMerging: Boolean = false

  /** Whether merging windows that only touch are merged too. */
  def isInclusive: Boolean = true

  /** Whether a row may open the window `own`, which meets no open window.
    *
    * @param watermark
    *   the late watermark of the row
    */
  def canOpen(own: TimeWindow, watermark: Long): Boolean = true

  /** The checks that close sessions after a maximum duration, if there is one. */
  def checks: Option[SessionChecks] = None
}

/** Creates assigners from specs. */
object Assigner {

  /** Returns the assigner of a window spec.
    *
    * @param timeline
    *   the kind of time by which windows end; ignored for windows without end
    */
  def of(window: Window, timeline: Timeline): Assigner = window match {
    case grid: GridWindow => new GridAssigner(Grid.of(grid), timeline)
    case session: SessionWindow => new SessionAssigner(session, timeline)
    case Custom(_, merging) => new ListedAssigner(merging, timeline)
    case Global => GlobalAssigner
    case count: Count if count.isNumbered => new CountAssigner(count.size, count.step)
    case _: Count => LastRowsAssigner
    case _: SweptWindow | _: Windows =>
      throw new IllegalArgumentException(s"no assigner finds $window")
  }
}

/** Assigns rows to the windows of a fixed grid, such as tumbling or hopping windows. */
final class GridAssigner(grid: Grid, override val timeline: Timeline) extends Assigner {

  private val hasSeveral = grid.isOverlapping || grid.isCumulative

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    assign(sliceOf(row), Long.MinValue, windows)

  override def assignOpen(
      row: Arrival,
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

  private def sliceOf(row: Arrival): Long =
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

/** Assigns each row to a session window of its own. Sessions that meet are merged later.
  *
  * All rows have the same gap, or each row has its own gap. A shorter gap of a later row never
  * moves the end of a session back (flink.md 1.6).
  */
final class SessionAssigner(session: SessionWindow, override val timeline: Timeline)
    extends Assigner {

  private val convention = TimeConvention.of(session)
  private val (isFixed, fixed) = session match {
    case Session(gap, _, _, _, _, _) => (true, gap)
    case _: DynamicSession => (false, 0L)
  }

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += Sessions.windowOf(row.time, if (isFixed) fixed else row.gap)

  override def isMerging: Boolean = true

  override def isInclusive: Boolean = session.inclusive

  // The rule compares the time of the row, which no convention moves, with the host's watermark.
  override def canOpen(own: TimeWindow, watermark: Long): Boolean =
    session.lateStart == LateStart.Open || own.start >= convention.watermarkOut(watermark)

  override val checks: Option[SessionChecks] =
    session.maxDurationUs.map(new SessionChecks(_, session.maxCheck, session.closed))
}

/** Assigns each row to the windows that the row lists. */
final class ListedAssigner(override val isMerging: Boolean, override val timeline: Timeline)
    extends Assigner {

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows ++= row.windows
}

/** Assigns all rows to one window without end. */
sealed abstract class GlobalAssigner extends Assigner {

  private val window = TimeWindow(0L, Timeline.EndOfTime)

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += window

  override def timeline: Timeline = Timeline.Endless
}

/** Assigns all rows to one window without end that uses the user's triggers and evictors. */
object GlobalAssigner extends GlobalAssigner

/** Assigns rows to partial count windows: an evictor keeps the last rows of a window without end.
  */
object LastRowsAssigner extends GlobalAssigner {
  override def boundsFromRows: Boolean = true
}

/** Assigns the rows of a key to windows of `size` rows, with a new window every `slide` rows.
  * Window k holds the rows with index `k * slide` up to but not including `k * slide + size`,
  * counted from 0.
  */
final class CountAssigner(size: Long, slide: Long) extends Assigner {

  override def assign(row: Arrival, index: Long, windows: ArrayBuffer[TimeWindow]): Unit = {
    val last = index - index % slide
    var start = last - (size - 1) / slide * slide
    while (start <= last) {
      if (start >= 0 && index < start + size) windows += TimeWindow(start, start + size)
      start += slide
    }
  }

  override def timeline: Timeline = Timeline.Endless

  override def endOf(window: TimeWindow): Long = Timeline.EndOfTime

  override def boundsFromRows: Boolean = true

  override def numberOf(window: TimeWindow): Option[Long] = Some(window.start / slide)

  override def endsWhenPurged: Boolean = true

  override def countRow(rows: Long, isIdle: Boolean): Long =
    if (isIdle) (rows + 1) % slide else rows + 1
}
