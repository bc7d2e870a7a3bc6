package transom.engine.keyed.keystate

import java.util.{Comparator, TreeMap}

import transom.engine.time.Timeline
import transom.engine.window.TimeWindow

/** State of one key: its windows and their timers.
  *
  * The operator changes the state in place. Times are microseconds. Not thread-safe.
  */
final class KeyState[A <: AnyRef] extends PerKeyState {

  /** Open windows, sorted by start and then by end. Merging windows do not intersect, so they are
    * in order of time.
    */
  private[keyed] val windows = new TreeMap[TimeWindow, WindowState[A]](KeyState.ByBounds)

  /** The window of the previous row, cached because the next row mostly belongs to the same
    * window.
    */
  private[keyed] var latest: WindowState[A] = _

  /** Number for the next row list. */
  private[keyed] var nextList = 0L

  /** Number of rows so far; counted only for count windows. */
  private[keyed] var rowCount = 0L

  /** Watermark and wall-clock time to which the key has advanced. Timers that a row sets in the
    * past run only after the time has moved on. Results then do not depend on how rows are split
    * into batches.
    */
  private[keyed] var watermark = Long.MinValue
  private[keyed] var clock = Long.MinValue

  /** Lower bounds of the key's timers. Removing a timer does not raise its bound. The bound is
    * refreshed when it is reached.
    */
  private[keyed] var watermarkBound = Long.MaxValue
  private[keyed] var clockBound = Long.MaxValue

  override def nextTimer: Long = KeyState.nextTimer(watermarkBound, watermark)

  override def nextClockTimer: Long = KeyState.nextTimer(clockBound, clock)

  override def isEmpty: Boolean = windows.isEmpty && rowCount == 0

  /** Number of open windows. */
  def size: Int = windows.size

  override def heldBytes: Long = KeyState.WindowWeight * windows.size

  private[keyed] def add(window: WindowState[A]): Unit = {
    windows.put(window.bounds, window)
    latest = window
  }

  private[keyed] def remove(window: WindowState[A]): Unit = {
    windows.remove(window.bounds)
    if (latest eq window) latest = null
  }

  private[keyed] def noteTimer(timeline: Timeline, timer: Long): Unit =
    if (timeline == Timeline.Clock) clockBound = math.min(clockBound, timer)
    else watermarkBound = math.min(watermarkBound, timer)

  /** Recomputes the lower bound of the timers on a timeline from the timers of all windows. */
  private[keyed] def refreshBound(timeline: Timeline): Unit = {
    var first = Long.MaxValue
    windows.values.forEach(window => first = math.min(first, window.timers(timeline).first))
    if (timeline == Timeline.Clock) clockBound = first else watermarkBound = first
  }
}

object KeyState {

  // Estimated heap size of the objects of a window, in bytes.
  private final val WindowWeight = 200L

  private def nextTimer(bound: Long, now: Long): Long =
    if (now == Long.MaxValue) Long.MaxValue else math.max(bound, now + 1)

  /** Orders windows by start and then by end. */
  val ByBounds: Comparator[TimeWindow] = (a, b) => {
    val order = java.lang.Long.compare(a.start, b.start)
    if (order != 0) order else java.lang.Long.compare(a.end, b.end)
  }
}
