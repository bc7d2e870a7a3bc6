package transom.engine.judge

import scala.collection.mutable

import transom.engine.firing.AfterLateness
import transom.engine.setting.InvalidSpec
import transom.engine.spec._
import transom.engine.time.{Ticks, Watermark}
import transom.engine.window.{Grid, GridWindow, Session, TimeConvention}

/** Decides which windows of a silent input the wall clock closes.
  *
  * @param windows
  *   the windows that have rows
  * @param lateness
  *   the allowed lateness in microseconds if windows fire only after it, else 0. A window closes
  *   once the watermark is this much later than its end.
  */
private[judge] final class IdleClosing(
    timeout: IdleTimeout,
    val windows: WindowsWithRows,
    convention: TimeConvention,
    lateness: Long) {

  /** The end of the last window that closes at a tick, in the engine's convention. `NotYet` if
    * none does.
    */
  def lastClosed(input: InputState, now: Long): Long =
    if (input.arrivals.seen == Watermark.NotYet || now - input.arrivals.seen < timeout.afterUs)
      Watermark.NotYet
    else {
      val bound = timeout.rule match {
        case IdleRule.AfterWindowEnd => now - timeout.afterUs
        case IdleRule.GreaterOf => now
        case IdleRule.LastRow => Long.MaxValue
      }
      val end = windows.lastEnd(bound)
      if (Ticks.add(end, lateness) > convention.watermarkIn(input.watermark)) end
      else Watermark.NotYet
    }

  /** The watermark of the partitions when the last closed window ends at `end`. */
  def endOut(end: Long): Long = convention.watermarkOut(end)

  /** The watermark that closes the windows until `end`. */
  def watermarkOut(end: Long): Long = convention.watermarkOut(Ticks.add(end, lateness))

  /** Forgets windows that have closed. */
  def forget(watermark: Long): Unit =
    windows.forget(Ticks.subtract(convention.watermarkIn(watermark), lateness))
}

private[judge] object IdleClosing {
  def of(timeout: IdleTimeout, spec: WindowSpec): IdleClosing = {
    val convention = spec.window.convention
    val windows = spec.window match {
      case grid: GridWindow => new OpenGridWindows(grid.grid, convention)
      case session: Session => new OpenSessions(session.gapUs)
      case other =>
        throw new InvalidSpec(
          "idle_timeout",
          s"cannot be used with the window $other",
          "UNBOUNDED_WINDOW",
          Map("window" -> other.productPrefix))
    }
    // Only this trigger waits until the lateness is over. An allowed lateness does not delay the
    // timeout.
    val closesLate = spec.trigger.parts.contains(AfterLateness)
    new IdleClosing(timeout, windows, convention, if (closesLate) spec.allowedLatenessUs else 0L)
  }
}

/** The ends of windows that have rows, whatever their keys. Watermarks and ends are in the
  * engine's convention.
  */
private[judge] sealed abstract class WindowsWithRows {

  /** Adds the windows of a row.
    *
    * @param time
    *   the time in force, microseconds since 1970
    */
  def add(time: Long): Unit

  /** The largest end that is at most `bound`, or `NotYet`. */
  def lastEnd(bound: Long): Long

  /** Forgets windows that end by `watermark`. */
  def forget(watermark: Long): Unit

  def saved: Array[Long]
  def restore(saved: Array[Long]): Unit
}

/** Windows on a grid: remembers the slices that have rows. */
private final class OpenGridWindows(grid: Grid, convention: TimeConvention)
    extends WindowsWithRows {
  private val slices = mutable.TreeSet.empty[Long]
  private var last = Grid.NoSlice

  override def add(time: Long): Unit = {
    val slice = grid.sliceOf(convention.timeIn(time))
    // Consecutive rows often share a slice.
    if (slice != last && slice != Grid.NoSlice) slices += slice
    last = slice
  }

  // A slice that starts later has windows that end later, or at the same time. So the result is
  // an end of the latest slice that has a window that ends by the bound.
  override def lastEnd(bound: Long): Long = {
    var end = Watermark.NotYet
    // A window that ends by the bound contains only slices before the bound.
    var slice = slices.maxBefore(if (bound == Long.MaxValue) bound else grid.timeAt(bound))
    while (slice.nonEmpty && end == Watermark.NotYet) {
      end = grid.lastEndBy(slice.get, bound)
      slice = slices.maxBefore(slice.get)
    }
    end
  }

  // Later slices are in windows that end later, or at the same time.
  override def forget(watermark: Long): Unit =
    while (slices.nonEmpty && grid.lastEndOf(slices.head) <= watermark) slices -= slices.head

  override def saved: Array[Long] = slices.toArray
  override def restore(saved: Array[Long]): Unit = slices ++= saved
}

/** Sessions. Only the key groups know the ends of single sessions. So the watermark of a silent
  * input follows the wall clock, up to the end of the last session.
  */
private final class OpenSessions(gap: Long) extends WindowsWithRows {
  private var latest = Watermark.NotYet

  override def add(time: Long): Unit = latest = math.max(latest, time)

  override def lastEnd(bound: Long): Long =
    if (latest == Watermark.NotYet) latest else math.min(bound, Ticks.add(latest, gap))

  override def forget(watermark: Long): Unit = ()

  override def saved: Array[Long] = Array(latest)
  override def restore(saved: Array[Long]): Unit = saved.foreach(add)
}
