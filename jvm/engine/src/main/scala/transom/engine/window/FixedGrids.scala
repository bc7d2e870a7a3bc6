package transom.engine.window

import transom.engine.time.{Ticks, Zone}

/** Tumbling windows that start at `k * size + offset`. Each window is one slice.
  *
  * @param size
  *   length of a window, in microseconds
  * @param offset
  *   shift of the window starts, in microseconds
  * @param zone
  *   the zone of grid time
  */
final class TumblingGrid(size: Long, offset: Long, zone: Zone) extends ZonedGrid(zone) {

  private val shift = Math.floorMod(offset, size)

  def unit: Long = size

  def boundaryAt(gridTime: Long): Long = Ticks.boundaryAtOrBefore(gridTime, size, shift)

  def sliceEnd(slice: Long): Long = Ticks.boundaryAfter(slice, size, shift)

  def firstWindow(slice: Long, after: Long): TimeWindow = {
    val end = sliceEnd(slice)
    if (end > zone.reached(after)) TimeWindow(slice, end) else null
  }

  def firstAfter(instant: Long): TimeWindow = {
    val reached = zone.reached(instant)
    firstWindow(Ticks.boundaryAtOrBefore(reached, size, shift), instant)
  }

  def nextWindow(window: TimeWindow): TimeWindow =
    if (window.end == Long.MaxValue) null else TimeWindow(window.end, sliceEnd(window.end))

  def lastEndOf(slice: Long): Long = zone.passed(sliceEnd(slice))

  def lastStartOf(slice: Long): Long = slice
}

/** Hopping windows that start at `k * slide + offset`.
  *
  * Windows overlap, or leave gaps if `slide` exceeds `size`. The length of a slice is the
  * greatest common divisor of both, so every start and end of a window is a slice boundary.
  *
  * @param size
  *   length of a window, in microseconds
  * @param slide
  *   distance between window starts, in microseconds
  * @param offset
  *   shift of the window starts, in microseconds
  * @param zone
  *   the zone of grid time
  */
final class HoppingGrid(size: Long, slide: Long, offset: Long, zone: Zone)
    extends ZonedGrid(zone) {

  private val width = Ticks.gcd(size, slide)
  private val shift = Math.floorMod(offset, slide)
  private val sliceShift = Math.floorMod(offset, width)

  def unit: Long = width

  override def isOverlapping: Boolean = slide < size

  override def hasGaps: Boolean = slide > size

  override def isInGap(gridTime: Long): Boolean =
    slide > size && Ticks.sinceBoundary(gridTime, slide, shift) >= size

  def boundaryAt(gridTime: Long): Long = Ticks.boundaryAtOrBefore(gridTime, width, sliceShift)

  def sliceEnd(slice: Long): Long = Ticks.boundaryAfter(slice, width, sliceShift)

  def firstWindow(slice: Long, after: Long): TimeWindow = {
    val reached = zone.reached(after)
    val earliest =
      Ticks.boundaryAfter(Ticks.subtract(Math.max(slice, reached), size), slide, shift)
    val start = Math.min(earliest, lastStartOf(slice))
    val end = Ticks.add(start, size)
    if (end > reached) TimeWindow(start, end) else null
  }

  def firstAfter(instant: Long): TimeWindow = {
    val reached = zone.reached(instant)
    val start = Ticks.boundaryAfter(Ticks.subtract(reached, size), slide, shift)
    val end = Ticks.add(start, size)
    if (end > reached) TimeWindow(start, end) else null
  }

  def nextWindow(window: TimeWindow): TimeWindow = {
    val start = Ticks.boundaryAfter(window.start, slide, shift)
    val end = Ticks.add(start, size)
    if (end > window.end) TimeWindow(start, end) else null
  }

  def lastEndOf(slice: Long): Long = zone.passed(Ticks.add(lastStartOf(slice), size))

  def lastStartOf(slice: Long): Long = Ticks.boundaryAtOrBefore(slice, slide, shift)
}

/** Cumulative windows that share a start and grow by `step` up to `size`.
  *
  * The next cycle starts at the end of the longest window. When clocks go forward over a whole
  * step, the step has no rows. The window that ends with this step would equal the previous
  * window, so it is skipped.
  *
  * @param size
  *   length of a cycle, in microseconds
  * @param step
  *   length of a slice, in microseconds
  * @param offset
  *   shift of the cycle starts, in microseconds
  * @param zone
  *   the zone of grid time
  */
final class CumulateGrid(size: Long, step: Long, offset: Long, zone: Zone)
    extends ZonedGrid(zone) {

  private val shift = Math.floorMod(offset, size)
  private val stepShift = Math.floorMod(offset, step)

  override def isCumulative: Boolean = true

  def unit: Long = step

  def boundaryAt(gridTime: Long): Long = Ticks.boundaryAtOrBefore(gridTime, step, stepShift)

  def sliceEnd(slice: Long): Long = Ticks.boundaryAfter(slice, step, stepShift)

  def firstWindow(slice: Long, after: Long): TimeWindow = {
    val reached = zone.reached(after)
    val end = sliceEnd(Math.max(slice, reached))
    if (end > reached && end <= cycleEnd(slice)) TimeWindow(cycleStart(slice), end) else null
  }

  def firstAfter(instant: Long): TimeWindow = {
    val reached = zone.reached(instant)
    firstWindow(Ticks.boundaryAtOrBefore(reached, step, stepShift), instant)
  }

  def nextWindow(window: TimeWindow): TimeWindow = {
    val resumed = Math.max(window.end, zone.local(endOf(window)))
    if (resumed == Long.MaxValue) null else TimeWindow(cycleStart(resumed), sliceEnd(resumed))
  }

  def lastEndOf(slice: Long): Long = zone.passed(cycleEnd(slice))

  def lastStartOf(slice: Long): Long = cycleStart(slice)

  private def cycleStart(time: Long): Long = Ticks.boundaryAtOrBefore(time, size, shift)

  private def cycleEnd(time: Long): Long = Ticks.boundaryAfter(time, size, shift)
}
