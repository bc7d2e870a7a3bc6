package transom.engine

/** Windows of one size side by side, starting at `k * size + offset`. A pane is a window. */
final class TumblingGrid(size: Long, offset: Long, zone: Zone) extends ZonedGrid(zone) {

  private val shift = Math.floorMod(offset, size)

  def paneOf(instant: Long): Long = Ticks.boundaryAtOrBefore(zone.local(instant), size, shift)

  def paneEnd(pane: Long): Long = Ticks.boundaryAfter(pane, size, shift)

  def firstWindow(pane: Long, after: Long): TimeWindow = {
    val end = paneEnd(pane)
    if (end > zone.reached(after)) TimeWindow(pane, end) else null
  }

  def nextWindow(window: TimeWindow): TimeWindow =
    if (window.end == Long.MaxValue) null else TimeWindow(window.end, paneEnd(window.end))

  def lastDue(pane: Long): Long = zone.passed(paneEnd(pane))
}

/** Windows of one size that start at `k * slide + offset`.
  *
  * They overlap, or leave gaps if `slide` exceeds `size`. A pane is the greatest common divisor
  * of both, so that each start and each end of a window is a bound of panes.
  */
final class HoppingGrid(size: Long, slide: Long, offset: Long, zone: Zone)
    extends ZonedGrid(zone) {

  private val width = Ticks.gcd(size, slide)
  private val shift = Math.floorMod(offset, slide)
  private val paneShift = Math.floorMod(offset, width)

  override def isOverlapping: Boolean = slide < size

  def paneOf(instant: Long): Long = {
    val time = zone.local(instant)
    if (slide > size && Ticks.sinceBoundary(time, slide, shift) >= size) Grid.NoPane
    else Ticks.boundaryAtOrBefore(time, width, paneShift)
  }

  def paneEnd(pane: Long): Long = Ticks.boundaryAfter(pane, width, paneShift)

  def firstWindow(pane: Long, after: Long): TimeWindow = {
    val reached = zone.reached(after)
    val earliest =
      Ticks.boundaryAfter(Ticks.subtract(Math.max(pane, reached), size), slide, shift)
    val start = Math.min(earliest, lastStart(pane))
    val end = Ticks.add(start, size)
    if (end > reached) TimeWindow(start, end) else null
  }

  def nextWindow(window: TimeWindow): TimeWindow = {
    val start = Ticks.boundaryAfter(window.start, slide, shift)
    val end = Ticks.add(start, size)
    if (end > window.end) TimeWindow(start, end) else null
  }

  def lastDue(pane: Long): Long = zone.passed(Ticks.add(lastStart(pane), size))

  private def lastStart(pane: Long): Long = Ticks.boundaryAtOrBefore(pane, slide, shift)
}

/** Windows that share a start and grow by `step` until they are `size` long, then start anew.
  *
  * A step that the clock skips adds nothing, so the window that ends with it would be the one
  * before again; it is left out.
  */
final class CumulateGrid(size: Long, step: Long, offset: Long, zone: Zone)
    extends ZonedGrid(zone) {

  private val shift = Math.floorMod(offset, size)
  private val stepShift = Math.floorMod(offset, step)

  override def isCumulative: Boolean = true

  def paneOf(instant: Long): Long = Ticks.boundaryAtOrBefore(zone.local(instant), step, stepShift)

  def paneEnd(pane: Long): Long = Ticks.boundaryAfter(pane, step, stepShift)

  def firstWindow(pane: Long, after: Long): TimeWindow = {
    val reached = zone.reached(after)
    val end = paneEnd(Math.max(pane, reached))
    if (end > reached && end <= cycleEnd(pane)) TimeWindow(cycleStart(pane), end) else null
  }

  def nextWindow(window: TimeWindow): TimeWindow = {
    val resumed = Math.max(window.end, zone.local(due(window)))
    if (resumed == Long.MaxValue) null else TimeWindow(cycleStart(resumed), paneEnd(resumed))
  }

  def lastDue(pane: Long): Long = zone.passed(cycleEnd(pane))

  private def cycleStart(time: Long): Long = Ticks.boundaryAtOrBefore(time, size, shift)

  private def cycleEnd(time: Long): Long = Ticks.boundaryAfter(time, size, shift)
}
