package org.apache.spark.sql.transom

import transom.engine.{GlobalGrid, Grid, TimeWindow}
import transom.engine.log.SessionLog
import transom.engine.spec
import transom.engine.spec.GridWindow

/** The assigner of the slice log as its tasks use it; times are instants in microseconds. */
sealed trait Windows extends Serializable {

  /** The slice of a row, `Grid.NoSlice` if it belongs to no window. */
  def sliceOf(time: Long): Long

  /** Tells the late rows of one task apart. */
  def lateness(watermark: Long): Lateness

  /** The windows of a row that had fired by `watermark`, in instants. */
  def missed(time: Long, watermark: Long): Seq[TimeWindow]
}

final case class GridWindows(grid: Grid) extends Windows {
  override def sliceOf(time: Long): Long = grid.sliceOf(time)
  override def lateness(watermark: Long): Lateness = new SliceLateness(grid, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    grid
      .windowsOf(time)
      .filter(grid.endOf(_) <= watermark)
      .map(window => TimeWindow(grid.instantOf(window.start), grid.endOf(window)))
}

final case class SessionWindows(gap: Long, inclusive: Boolean) extends Windows {
  override def sliceOf(time: Long): Long = SessionLog.sliceOf(time, gap)
  override def lateness(watermark: Long): Lateness = new SessionLateness(gap, watermark)
  override def missed(time: Long, watermark: Long): Seq[TimeWindow] =
    Seq(TimeWindow(time, time + gap))
}

object Windows {
  def of(window: spec.Window): Windows = window match {
    case grid: spec.GridWindow => GridWindows(Grid.of(grid))
    case spec.Global => GridWindows(GlobalGrid)
    case session: spec.Session => SessionWindows(session.gapUs, session.inclusive)
    case other => throw new IllegalArgumentException(s"$other are no windows of the slice log")
  }

  def includeEnd(window: spec.Window): Boolean = window match {
    case grid: spec.GridWindow => grid.closed == spec.Closed.Right
    case session: spec.Session => session.closed == spec.Closed.Right
    case session: spec.DynamicSession => session.closed == spec.Closed.Right
    case _ => false
  }

  /** What is subtracted from a row's time: with a tick, windows of a grid include their end
    * instead of their start. A session starts at a row.
    */
  def timeShift(window: spec.Window): Long =
    if (window.isInstanceOf[GridWindow] && includeEnd(window)) 1L else 0L

  def areSessions(window: spec.Window): Boolean = window match {
    case _: spec.Session | _: spec.DynamicSession => true
    case _ => false
  }
}
