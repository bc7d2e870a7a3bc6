package org.apache.spark.sql.transom

import transom.engine.Grid

/** What a watermark makes of rows, as far as a row alone can tell. For one task: it remembers. */
sealed abstract class Lateness {

  /** Whether none of the row's windows is open. */
  def isLate(time: Long, slice: Long): Boolean

  /** Whether one of the windows of a slice has fired, if not all. */
  def isPartlyLate(slice: Long): Boolean
}

private final class SliceLateness(grid: Grid, watermark: Long) extends Lateness {
  private val haveAllFired = new LastSliceCache(grid.lastEndOf(_) <= watermark)
  private val hasOneFired =
    new LastSliceCache(slice => grid.endOf(grid.firstWindow(slice, Long.MinValue)) <= watermark)

  override def isLate(time: Long, slice: Long): Boolean = haveAllFired(slice)
  override def isPartlyLate(slice: Long): Boolean = hasOneFired(slice)
}

/** What holds of a slice, asked once for rows of it that come together: when its windows fall due
  * may be for the rules of a time zone to say.
  */
private final class LastSliceCache(holds: Long => Boolean) {
  private var last = Grid.NoSlice
  private var answer = false

  def apply(slice: Long): Boolean = {
    if (slice != last) {
      last = slice
      answer = holds(slice)
    }
    answer
  }
}

private final class SessionLateness(gap: Long, watermark: Long) extends Lateness {
  override def isLate(time: Long, slice: Long): Boolean = time + gap <= watermark
  override def isPartlyLate(slice: Long): Boolean = false
}
