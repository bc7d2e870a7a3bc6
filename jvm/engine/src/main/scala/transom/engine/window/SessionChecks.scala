package transom.engine.window

import transom.engine.time.Ticks

/** The checks that close sessions after a maximum duration, as in Azure Stream Analytics.
  *
  * Checks lie on the multiples of the maximum duration since 1970. A check closes a session that
  * has lasted too long and would continue. The rows after the check belong to the next session,
  * which starts at the check. So no session lasts longer than twice the maximum duration.
  *
  * A row at a check is after the check, or before it if sessions include their end. Times are
  * microseconds.
  */
final class SessionChecks(maxDuration: Long, maxCheck: MaxCheck, closed: Closed) {

  /** By how much a row at a check is before the rows after the check. */
  private val shift = if (closed == Closed.Right) 1L else 0L

  /** Largest age of a session that a check accepts. */
  private val longest = maxCheck match {
    case MaxCheck.AtLeast => maxDuration - 1
    case MaxCheck.Above => maxDuration
  }

  /** Distance between two checks that close sessions of an unbroken chain of rows. */
  private val step = maxCheck match {
    case MaxCheck.AtLeast => maxDuration
    case MaxCheck.Above => 2 * maxDuration
  }

  /** The check that closes a session if it starts at `start` and is still open then. */
  def closing(start: Long): Long =
    Ticks.boundaryAfter(Ticks.add(start, longest), maxDuration, 0L)

  /** The last check until `until` that closes a session which starts at `start`, or one of the
    * sessions that continue it without a break. `start` if there is no such check.
    */
  def lastClosing(start: Long, until: Long): Long = {
    val first = closing(start)
    if (until < first) start else first + (until - first) / step * step
  }

  /** The last instant at which a check is before a row at `time`. */
  def lastBefore(time: Long): Long = time - shift

  /** The earliest time of a row after a check. */
  def firstAfter(check: Long): Long = check + shift

  /** Whether a row at `time` is after a check. */
  def isAfter(time: Long, check: Long): Boolean = lastBefore(time) >= check

  /** The first check that a row at `time` is not after. */
  def next(time: Long): Long = Ticks.boundaryAfter(lastBefore(time), maxDuration, 0L)

  /** The earliest start of a part that may hold a row at `time`. No check that can still close a
    * session lies between the rows of a part.
    *
    * @param now
    *   the time that has been reached. Earlier checks close no session that is open.
    */
  def partFrom(time: Long, now: Long): Long = {
    val check = Ticks.boundaryAtOrBefore(lastBefore(time), maxDuration, 0L)
    // A session that continues after a check starts at this check, like a row just before it.
    if (check <= now) check else firstAfter(check)
  }

  /** The start from which a part cannot hold a row at `time`. */
  def partUntil(time: Long): Long = firstAfter(next(time))
}
