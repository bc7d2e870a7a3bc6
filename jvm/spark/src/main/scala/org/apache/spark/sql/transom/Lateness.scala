package org.apache.spark.sql.transom

import transom.engine.Grid

/** What a watermark makes of rows, as far as a row alone can tell. For one task: it remembers. */
sealed abstract class Lateness {

  /** Whether none of the row's windows is open. */
  def isLate(time: Long, pane: Long): Boolean

  /** Whether one of the windows of a pane has fired, if not all. */
  def isPartlyLate(pane: Long): Boolean
}

private final class PaneLateness(grid: Grid, watermark: Long) extends Lateness {
  private val haveAllFired = new OfLastPane(grid.lastDue(_) <= watermark)
  private val hasOneFired =
    new OfLastPane(pane => grid.due(grid.firstWindow(pane, Long.MinValue)) <= watermark)

  override def isLate(time: Long, pane: Long): Boolean = haveAllFired(pane)
  override def isPartlyLate(pane: Long): Boolean = hasOneFired(pane)
}

/** What holds of a pane, asked once for rows of it that come together: when its windows fall due
  * may be for the rules of a time zone to say.
  */
private final class OfLastPane(holds: Long => Boolean) {
  private var last = Grid.NoPane
  private var answer = false

  def apply(pane: Long): Boolean = {
    if (pane != last) {
      last = pane
      answer = holds(pane)
    }
    answer
  }
}

private final class SessionLateness(gap: Long, watermark: Long) extends Lateness {
  override def isLate(time: Long, pane: Long): Boolean = time + gap <= watermark
  override def isPartlyLate(pane: Long): Boolean = false
}
