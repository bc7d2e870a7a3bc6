package transom.engine.window

import scala.collection.View
import scala.collection.mutable.ArrayBuffer

import transom.engine.time.Timeline

/** Assigns rows to windows, as Flink's `WindowAssigner` does. */
abstract class Assigner {

  /** Appends the windows of a row to `windows`.
    *
    * @param index
    *   number of rows of the key before this row. Only `CountAssigner` uses the number.
    */
  def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit

  /** Appends the windows of a row to `windows`, and may leave out windows that end by `closed`.
    * Returns the windows that are left out, in the order of their ends, with instants as bounds.
    * The view stays valid, and computes a window when it is read.
    */
  def assignOpen(
      row: RowContext,
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
