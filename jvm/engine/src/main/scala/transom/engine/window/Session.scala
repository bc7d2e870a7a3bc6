package transom.engine.window

import scala.collection.mutable.ArrayBuffer

import transom.engine.setting.{Check, Durations}
import transom.engine.time.{Ticks, Timeline}

/** Windows that stay open while rows of a key keep arriving. */
sealed trait SessionWindow extends Window {

  /** Whether rows exactly one gap apart share a session. */
  def inclusive: Boolean

  /** Which bound of a session is inclusive. */
  def closed: Closed

  /** The maximum duration of a session, if there is one. */
  def maxDurationUs: Option[Long]

  /** Which sessions a check closes. Without a maximum duration it has no effect. */
  def maxCheck: MaxCheck

  maxDurationUs.foreach(Check.positive("max_duration_us", _))
  Check.that(
    "max_duration_us",
    maxDurationUs.isDefined || maxCheck == MaxCheck.AtLeast,
    "must be set if max_check is",
    "MISSING_ARGUMENT",
    "owner" -> "Session",
    "instead" -> "Session('5 minutes', max_duration='1 hour', max_check='>')")

  override def isMerging: Boolean = true

  override final def isSession: Boolean = true

  /** The gap of all rows; none if each row has its own gap. */
  private[window] def fixedGap: Option[Long]

  override final def assigner(timeline: Timeline): Assigner = new SessionAssigner(this, timeline)

  override final def slices: Either[String, SliceAssigner] =
    if (lateStart == LateStart.Reject) Left("late_start='reject'")
    else if (maxDurationUs.isDefined) Left("max_duration")
    else fixedGap.map(new SessionSlices(_, inclusive)).toRight("a gap for each row")

  override final def sliceText: Option[String] =
    fixedGap.map(gap => s"slice of ${Durations.text(gap)}, with the bounds of sessions")

  // A session starts at a row, so only its end moves.
  override final def convention: TimeConvention =
    if (closed == Closed.Right) TimeConvention.SessionEnd else TimeConvention.Start

  override final def isEndless: Boolean = false

  override final def hasKnownEnd: Boolean = fixedGap.isDefined

  override final def isCombinable: Boolean =
    fixedGap.isDefined && lateStart == LateStart.Open
}

/** Session windows: a session ends when a key has no rows for `gapUs`.
  *
  * @param gapUs
  *   inactivity that ends a session
  * @param inclusive
  *   whether rows exactly `gapUs` apart share a session
  * @param lateStart
  *   what happens to a row behind the watermark that touches no open session
  * @param maxDurationUs
  *   the maximum duration of a session, if there is one
  * @param maxCheck
  *   which sessions a check of the maximum duration closes
  */
final case class Session(
    gapUs: Long,
    inclusive: Boolean = true,
    closed: Closed = Closed.Left,
    override val lateStart: LateStart = LateStart.Open,
    maxDurationUs: Option[Long] = None,
    maxCheck: MaxCheck = MaxCheck.AtLeast)
    extends SessionWindow {

  Check.positive("gap_us", gapUs)

  private[window] override def fixedGap: Option[Long] = Some(gapUs)
}

/** Session windows whose gap is computed for each row. The other settings are those of
  * [[Session]].
  *
  * @param gapColumn
  *   index of the column with the gap of a row
  */
final case class DynamicSession(
    gapColumn: Int,
    inclusive: Boolean = true,
    closed: Closed = Closed.Left,
    override val lateStart: LateStart = LateStart.Open,
    maxDurationUs: Option[Long] = None,
    maxCheck: MaxCheck = MaxCheck.AtLeast)
    extends SessionWindow {

  override def placementColumn: Option[PlacementColumn] = Some(PlacementColumn.Gap(gapColumn))

  private[window] override def fixedGap: Option[Long] = None
}

/** What happens to a row behind the watermark that touches no open session. */
sealed trait LateStart

/** The values of [[LateStart]]. */
object LateStart {

  /** The row opens a session, unless this session would already be closed (Flink). */
  case object Open extends LateStart

  /** The row is late (Atlas). A row exactly at the watermark opens a session. */
  case object Reject extends LateStart
}

/** Which sessions a check of the maximum duration closes. */
sealed trait MaxCheck

/** The values of [[MaxCheck]]. */
object MaxCheck {

  /** Sessions that have lasted the maximum duration or longer. */
  case object AtLeast extends MaxCheck

  /** Sessions that have lasted longer than the maximum duration. */
  case object Above extends MaxCheck
}

/** Computes session windows and decides which windows belong to one session. */
object Sessions {

  /** The window of a single row: from `time` to `time + gap`, in microseconds. */
  def windowOf(time: Long, gap: Long): TimeWindow = TimeWindow(time, Ticks.add(time, gap))

  /** The start of the slice that contains `time`, in microseconds. Slices are `gap` wide. */
  def sliceOf(time: Long, gap: Long): Long = time - Math.floorMod(time, gap)

  /** Whether a session that ends at `end` continues in a session that starts at `start`. Sessions
    * that only touch are one session, unless `inclusive` is false (flink.md 6.1).
    */
  def reaches(end: Long, start: Long, inclusive: Boolean): Boolean =
    if (inclusive) start <= end else start < end

  /** Whether two windows belong to one session. */
  def intersects(a: TimeWindow, b: TimeWindow, inclusive: Boolean): Boolean =
    reaches(a.end, b.start, inclusive) && reaches(b.end, a.start, inclusive)
}

/** Assigns each row to a session window of its own. Sessions that meet are merged later.
  *
  * All rows have the same gap, or each row has its own gap. A shorter gap of a later row never
  * moves the end of a session back (flink.md 1.6).
  */
final class SessionAssigner(session: SessionWindow, override val timeline: Timeline)
    extends Assigner {

  private val convention = session.convention
  private val isFixed = session.fixedGap.isDefined
  private val fixed = session.fixedGap.getOrElse(0L)

  override def assign(row: RowContext, index: Long, windows: ArrayBuffer[TimeWindow]): Unit =
    windows += Sessions.windowOf(row.time, if (isFixed) fixed else row.gap)

  override def isMerging: Boolean = true

  override def isInclusive: Boolean = session.inclusive

  // The rule compares the time of the row, which no convention moves, with the host's watermark.
  override def canOpen(own: TimeWindow, watermark: Long): Boolean =
    session.lateStart == LateStart.Open || own.start >= convention.watermarkOut(watermark)

  override val checks: Option[SessionChecks] =
    session.maxDurationUs.map(new SessionChecks(_, session.maxCheck, session.closed))
}

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
