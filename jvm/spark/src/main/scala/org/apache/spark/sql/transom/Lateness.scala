package org.apache.spark.sql.transom

import transom.engine.window.Grid

/** Decides whether a row is late, as far as the row alone can tell. Holds mutable caches: create
  * one per task.
  */
sealed abstract class Lateness {

  /** Whether all windows of a row have fired. For sessions: whether the row alone would be a
    * session that has fired. Times are in microseconds since 1970, minus `timeShift`.
    */
  def isLate(time: Long, slice: Long): Boolean

  /** Whether at least one window of the slice has fired. Always false for sessions. */
  def isPartlyLate(slice: Long): Boolean
}

/** Lateness by the windows of a grid that contain the slice of a row. */
private final class SliceLateness(grid: Grid, watermark: Long) extends Lateness {
  private val haveAllFired = new LastSliceCache(grid.lastEndOf(_) <= watermark)
  private val hasOneFired =
    new LastSliceCache(slice => grid.endOf(grid.firstWindow(slice, Long.MinValue)) <= watermark)

  override def isLate(time: Long, slice: Long): Boolean = haveAllFired(slice)
  override def isPartlyLate(slice: Long): Boolean = hasOneFired(slice)
}

/** Caches the answer for the last slice. Consecutive rows often share a slice. The end of a
  * window may depend on the rules of a time zone, which are slow to evaluate.
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

/** Lateness of a row as a session of its own. Only the key group knows whether an open session
  * accepts the row anyway.
  */
private final class SessionLateness(gap: Long, watermark: Long) extends Lateness {
  override def isLate(time: Long, slice: Long): Boolean = time + gap <= watermark
  override def isPartlyLate(slice: Long): Boolean = false
}
