package transom.engine.window

import transom.engine.setting.Check
import transom.engine.time.{Ticks, Zone}

/** Windows of one size without overlap or gaps.
  *
  * @param stagger
  *   how far windows are shifted per key group
  */
final case class Tumbling(
    sizeUs: Long,
    offsetUs: Long = 0,
    closed: Closed = Closed.Left,
    timeZone: String = "UTC",
    override val stagger: Stagger = Stagger.Aligned)
    extends GridWindow {

  Check.positive("size_us", sizeUs)
  Check.offset(offsetUs, sizeUs)
  Check.zone(timeZone)

  override def grid: Grid = new TumblingGrid(sizeUs, offsetUs, Zone.of(timeZone))

  override def distanceUs: Long = sizeUs

  override protected def sliceName: String = "window"

  override protected def in(timeZone: String): GridWindow = copy(timeZone = timeZone)

  override def slices: Either[String, SliceAssigner] =
    if (stagger == Stagger.Aligned) super.slices else Left("the stagger of Tumbling windows")
}

/** How far windows are shifted beyond their offset, so that key groups do not all fire at once.
  */
sealed trait Stagger

/** The values of [[Stagger]]. */
object Stagger {

  /** No shift. */
  case object Aligned extends Stagger

  /** A random shift for each key group. */
  case object Random extends Stagger

  /** The time from the window start to the first row of the key group. */
  case object Natural extends Stagger
}

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
