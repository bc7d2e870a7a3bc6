package org.apache.spark.sql.transom

import transom.engine.session.SessionLog
import transom.engine.spec
import transom.engine.spec.GridWindow
import transom.engine.window.{GlobalGrid, Grid, TimeWindow}

/** Window assigner of the slice log, as tasks use it. Times are in microseconds since 1970, minus
  * `timeShift`.
  */
sealed trait Windows extends Serializable {

  /** The slice of a row, or `Grid.NoSlice` if the row belongs to no window. */
  def sliceOf(time: Long): Long

  /** Creates the lateness check of one task for a watermark. */
  def lateness(watermark: Long): Lateness

  /** The windows of a row that had fired at `watermark`, with bounds in microseconds since 1970.
    */
  def missed(time: Long, watermark: Long): Seq[TimeWindow]
}

/** Assigns rows to the windows of a grid. */
final case class GridWindows(grid: Grid) extends Windows {
  override def sliceOf(time: Long): Long = grid.sliceOf(time)
  override def lateness(watermark: Long): Lateness = new SliceLateness(grid, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    grid
      .windowsOf(time)
      .filter(grid.endOf(_) <= watermark)
      .map(window => TimeWindow(grid.instantOf(window.start), grid.endOf(window)))
}

/** Assigns rows to sessions. Gaps are in microseconds. */
final case class SessionWindows(gap: Long, inclusive: Boolean) extends Windows {
  override def sliceOf(time: Long): Long = SessionLog.sliceOf(time, gap)
  override def lateness(watermark: Long): Lateness = new SessionLateness(gap, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    Seq(TimeWindow(time, time + gap))
}

/** Creates assigners from window specs, and classifies window specs. */
object Windows {
  def of(window: spec.Window): Windows = window match {
    case grid: spec.GridWindow => GridWindows(Grid.of(grid))
    case spec.Global => GridWindows(GlobalGrid)
    case session: spec.Session => SessionWindows(session.gapUs, session.inclusive)
    case other => throw new IllegalArgumentException(s"$other are no windows of the slice log")
  }

  /** Whether windows include their end instead of their start. */
  def includeEnd(window: spec.Window): Boolean = window match {
    case grid: spec.GridWindow => grid.closed == spec.Closed.Right
    case session: spec.Session => session.closed == spec.Closed.Right
    case session: spec.DynamicSession => session.closed == spec.Closed.Right
    case _ => false
  }

  /** Microseconds to subtract from the time of a row. It is 1 for windows of a grid that include
    * their end instead of their start. It is 0 for sessions, because a session starts at a row.
    */
  def timeShift(window: spec.Window): Long =
    if (window.isInstanceOf[GridWindow] && includeEnd(window)) 1L else 0L

  def areSessions(window: spec.Window): Boolean = window match {
    case _: spec.Session | _: spec.DynamicSession => true
    case _ => false
  }
}
