package transom.engine.window

import transom.engine.time.Timeline

/** A grid with one window for all time, which fires when the input ends.
  *
  * The window ends long after the time of any row. The watermark reaches this end only when a
  * stream is drained or a static DataFrame ends.
  */
object GlobalGrid extends Grid {

  private val window = TimeWindow(0L, Timeline.EndOfTime)

  override def timeAt(instant: Long): Long = instant
  override def unit: Long = Timeline.EndOfTime
  override def boundaryAt(gridTime: Long): Long = window.start
  override def sliceEnd(slice: Long): Long = window.end
  override def firstWindow(slice: Long, after: Long): TimeWindow =
    if (after < Timeline.EndOfTime) window else null
  override def firstAfter(instant: Long): TimeWindow = firstWindow(window.start, instant)
  override def nextWindow(window: TimeWindow): TimeWindow = null
  override def lastEndOf(slice: Long): Long = Timeline.EndOfTime
  override def lastStartOf(slice: Long): Long = window.start
  override def instantOf(gridTime: Long): Long = gridTime
  override def endOf(window: TimeWindow): Long = Timeline.EndOfTime
}
