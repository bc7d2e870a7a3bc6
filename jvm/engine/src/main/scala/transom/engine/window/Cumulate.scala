package transom.engine.window

import transom.engine.setting.{Check, Durations}
import transom.engine.time.{Ticks, Zone}

/** Windows that share a start and grow by `stepUs` up to `sizeUs`. Then a new cycle starts.
  *
  * @param sizeUs
  *   length of the longest window
  * @param stepUs
  *   growth from one window to the next
  */
final case class Cumulate(
    sizeUs: Long,
    stepUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC")
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.positive("step_us", stepUs)
  Check.that(
    "size_us",
    sizeUs % stepUs == 0,
    s"is not a multiple of step_us, $stepUs",
    "NOT_A_MULTIPLE",
    "value" -> Durations.text(sizeUs),
    "step" -> Durations.text(stepUs))
  Check.windowsPerRow("step_us", sizeUs, stepUs, Durations.text(stepUs))
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)

  override def grid: Grid = new CumulateGrid(sizeUs, stepUs, offsetUs, Zone.of(timeZone))

  override def distanceUs: Long = stepUs

  override protected def sliceName: String = s"slice of ${Durations.text(stepUs)}"

  override protected def in(timeZone: String): GridWindow = copy(timeZone = timeZone)
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
