package transom.engine.operator

import transom.engine.spec._
import transom.engine.window.Arrival

/** Rules for the values of a row. A row that breaks a rule is a dead letter. */
object RowRules {

  // The documented range of Spark's timestamps: the years 1 to 9999.
  private final val FirstTime = -62135596800000000L
  private[operator] final val LastTime = 253402300799999999L

  /** Whether a time, in microseconds since 1970, is in the range of Spark's timestamps. */
  def isInRange(time: Long): Boolean = time >= FirstTime && time <= LastTime

  /** Whether a row may have a session gap of `gap` microseconds. */
  def isGap(gap: Long): Boolean = gap > 0 && gap <= Durations.LongestUs

  /** Whether a row may list the window `[start, end)`: it is not empty and in range. */
  def isWindow(start: Long, end: Long): Boolean =
    start < end && isInRange(start) && isInRange(end - 1)

  /** Whether a row may have the lifetime `[start, end)`. */
  def isLifetime(start: Long, end: Long): Boolean =
    end == Arrival.NoEnd || start < end && isInRange(end - 1)

  /** Whether a lifetime overlaps more windows than a row may be in. A lifetime without end is in
    * as many windows as the watermark passes.
    */
  def overlapsTooMany(window: Window, start: Long, end: Long): Boolean = {
    def isMore(distanceUs: Long) =
      end != Arrival.NoEnd && (end - start) / distanceUs > MostWindows
    window.members.exists {
      case windows: Tumbling => isMore(windows.sizeUs)
      case windows: Hopping => isMore(windows.slideUs)
      case windows: Cumulate => isMore(windows.stepUs)
      case _ => false
    }
  }

  /** Largest number of windows that a row may be in. */
  final val MostWindows = Constants.MostWindowsPerRow
}
