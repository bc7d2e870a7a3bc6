package transom.engine.window

import transom.engine.setting.{Check, Durations}
import transom.engine.time.{Ticks, Zone}

/** Windows of `sizeUs` that start every `slideUs`. They overlap, or leave gaps if the slide
  * exceeds the size.
  *
  * @param sizeUs
  *   length of a window
  * @param slideUs
  *   distance between window starts
  */
final case class Hopping(
    sizeUs: Long,
    slideUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("slide_us", slideUs)
  Check.offset(offsetUs, slideUs)
  Check.zone(timeZone)
  Check.windowsPerRow("slide_us", sizeUs, slideUs, Durations.text(slideUs))

  override def grid: Grid = new HoppingGrid(sizeUs, slideUs, offsetUs, Zone.of(timeZone))

  override def distanceUs: Long = slideUs

  override protected def sliceName: String =
    s"slice of ${Durations.text(Ticks.gcd(sizeUs, slideUs))}"

  override protected def in(timeZone: String): GridWindow = copy(timeZone = timeZone)
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
