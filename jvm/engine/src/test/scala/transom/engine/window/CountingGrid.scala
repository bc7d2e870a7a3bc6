package transom.engine.window

/** A grid that counts the steps from window to window. */
final class CountingGrid(grid: Grid) extends Grid {
  var steps = 0L

  private def counted[T](result: T): T = {
    steps += 1
    result
  }

  override def firstWindow(slice: Long, after: Long): TimeWindow =
    counted(grid.firstWindow(slice, after))
  override def firstAfter(instant: Long): TimeWindow = counted(grid.firstAfter(instant))
  override def nextWindow(window: TimeWindow): TimeWindow = counted(grid.nextWindow(window))
  override def lastEndOf(slice: Long): Long = counted(grid.lastEndOf(slice))
  override def lastStartOf(slice: Long): Long = grid.lastStartOf(slice)
  override def timeAt(instant: Long): Long = grid.timeAt(instant)
  override def boundaryAt(gridTime: Long): Long = grid.boundaryAt(gridTime)
  override def sliceEnd(slice: Long): Long = grid.sliceEnd(slice)
  override def unit: Long = grid.unit
  override def instantOf(gridTime: Long): Long = grid.instantOf(gridTime)
  override def endOf(window: TimeWindow): Long = grid.endOf(window)
  override def isInGap(gridTime: Long): Boolean = grid.isInGap(gridTime)
  override def hasGaps: Boolean = grid.hasGaps
  override def isOverlapping: Boolean = grid.isOverlapping
  override def isCumulative: Boolean = grid.isCumulative
}
