package transom.engine.keyed

import java.util.{Comparator, TreeMap}

import transom.engine.TimeWindow

/** All that a key remembers, its timers included: a value that the operator is handed, changes
  * and hands back.
  */
final class KeyState[A <: AnyRef] {

  /** By start, then by end. Sessions never intersect, so they lie in order of time. */
  private[keyed] val windows = new TreeMap[TimeWindow, WindowState[A]](KeyState.ByBounds)

  /** The window of the row before, which is mostly that of the next. */
  private[keyed] var latest: WindowState[A] = _

  /** Number of the next list of rows. */
  private[keyed] var nextList = 0L

  /** How many rows came; counted only for count windows. */
  private[keyed] var rowCount = 0L

  /** How far the key's time has moved. Timers that a row sets in the past wait until it moves on,
    * so that what they find does not depend on how rows were cut into batches.
    */
  private[keyed] var watermark = Long.MinValue
  private[keyed] var clock = Long.MinValue

  /** A bound: no timer is due earlier. It is not raised when a timer is put off or removed; the
    * key finds out when it is due.
    */
  private[keyed] var watermarkBound = Long.MaxValue
  private[keyed] var clockBound = Long.MaxValue

  /** What the user's function keeps for the key, for good; null at first. */
  var userState: Array[Byte] = _

  /** The watermark from which on the key has to be advanced; `Long.MaxValue` for never. */
  def nextTimer: Long = KeyState.nextTimer(watermarkBound, watermark)

  /** The same on the wall clock. */
  def nextClockTimer: Long = KeyState.nextTimer(clockBound, clock)

  /** Whether nothing has to be kept for the key. */
  def isEmpty: Boolean = windows.isEmpty && rowCount == 0 && userState == null

  /** How many windows are open. */
  def size: Int = windows.size

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

  /** Looks up when the next timer is really due. */
  private[keyed] def refreshBound(timeline: Timeline): Unit = {
    var first = Long.MaxValue
    windows.values.forEach(window => first = math.min(first, window.timers(timeline).first))
    if (timeline == Timeline.Clock) clockBound = first else watermarkBound = first
  }
}

object KeyState {

  private def nextTimer(bound: Long, now: Long): Long =
    if (now == Long.MaxValue) Long.MaxValue else math.max(bound, now + 1)

  /** In order of time: by start, then by end. */
  val ByBounds: Comparator[TimeWindow] = (a, b) => {
    val order = java.lang.Long.compare(a.start, b.start)
    if (order != 0) order else java.lang.Long.compare(a.end, b.end)
  }
}
