package org.apache.spark.sql.transom

import transom.engine.Grid

/** What a watermark makes of rows, as far as a row alone can tell. For one task: it remembers. */
sealed abstract class Lateness {

  /** Whether none of the row's windows is open. */
  def isLate(time: Long, pane: Long): Boolean

  /** Whether one of the windows of a pane has fired, if not all. */
  def isPartlyLate(pane: Long): Boolean
}

/** Rows of a pane mostly come together, and when its windows fall due may be for the rules of a
  * time zone to say.
  */
private final class PaneLateness(grid: Grid, watermark: Long) extends Lateness {
  private var last = Grid.NoPane
  private var haveAllFired = false
  private var hasOneFired = false

  override def isLate(time: Long, pane: Long): Boolean = {
    if (pane != last) judge(pane)
    haveAllFired
  }

  override def isPartlyLate(pane: Long): Boolean = {
    if (pane != last) judge(pane)
    hasOneFired
  }

  private def judge(pane: Long): Unit = {
    last = pane
    haveAllFired = grid.lastDue(pane) <= watermark
    hasOneFired = grid.due(grid.firstWindow(pane, Long.MinValue)) <= watermark
  }
}

private final class SessionLateness(gap: Long, watermark: Long) extends Lateness {
  override def isLate(time: Long, pane: Long): Boolean = time + gap <= watermark
  override def isPartlyLate(pane: Long): Boolean = false
}
