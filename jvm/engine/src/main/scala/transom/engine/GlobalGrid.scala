package transom.engine

/** One window for all time, which falls due when the input ends: far beyond any row's time, where
  * the watermark gets only when a stream is drained or a static DataFrame is over.
  */
object GlobalGrid extends Grid {

  /** Half way to the largest instant: the year 148,108. */
  final val EndOfTime = Long.MaxValue / 2

  private val window = TimeWindow(0L, EndOfTime)

  override def sliceOf(instant: Long): Long = window.start
  override def sliceEnd(slice: Long): Long = window.end
  override def firstWindow(slice: Long, after: Long): TimeWindow =
    if (after < EndOfTime) window else null
  override def nextWindow(window: TimeWindow): TimeWindow = null
  override def lastEndOf(slice: Long): Long = EndOfTime
  override def instantOf(gridTime: Long): Long = gridTime
  override def endOf(window: TimeWindow): Long = EndOfTime
}
