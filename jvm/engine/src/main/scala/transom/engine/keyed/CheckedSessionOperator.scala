package transom.engine.keyed

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{KeyState, WindowState}
import transom.engine.runtime.{Pulled, PulledLoop}
import transom.engine.time.Timeline
import transom.engine.window._

/** Window operator of sessions with a maximum duration, for one key at a time.
  *
  * The bounds of such a session are known only when its end is reached, because an earlier row
  * moves the check that closes the session. So the key keeps its open sessions in parts. A part
  * is a window with the rows of a session between two checks. Parts that touch are a chain. The
  * chain is cut into sessions when they end, from its first row on.
  *
  * A check that closes a session leaves a part without rows, from the check to the end that the
  * session had without the check. The next row of the chain joins this part. So the next session
  * starts at the check.
  *
  * Each session fires once, at its end. Holds mutable caches: not thread-safe.
  */
final class CheckedSessionOperator[R, A <: AnyRef, T](
    plan: KeyedPlan[R, A],
    checks: SessionChecks,
    rows: RowStore[R],
    results: Results[R, A, T])
    extends PerKeyOperator[R, KeyState[A], T] {
  import plan.assigner
  import assigner.timeline

  private val data = new WindowData(plan, rows)
  private val firing = new Firing(plan, data, rows, results)
  private val assigned = ArrayBuffer.empty[TimeWindow]
  private val isOnClock = timeline == Timeline.Clock
  private var missed = MissedWindows.None

  override def process(state: KeyState[A], row: R, context: RowContext): Iterator[T] = {
    assigned.clear()
    assigner.assign(context, state.rowCount, assigned)
    val ofRow = assigned.head
    if (isLate(state, ofRow, context.watermark)) {
      missed = MissedWindows.of(alone(ofRow))
    } else {
      missed = MissedWindows.None
      val now = nowOf(context.reached, context.clock)
      data.add(state, join(state, ofRow, ofRow.start, now), row, context.time)
    }
    Pulled.none
  }

  override def outcome: RowOutcome =
    if (missed.listed.isEmpty) RowOutcome.Added else RowOutcome.Late

  override def missedWindows: MissedWindows = missed

  override def advance(
      state: KeyState[A],
      watermark: Long,
      clock: Long,
      watermarkByRows: Long): Iterator[T] = {
    firing.watermarkByRows = watermarkByRows
    val now = nowOf(watermark, clock)
    val hasMoved = now > nowOf(state.watermark, state.clock)
    state.watermark = math.max(state.watermark, watermark)
    state.clock = math.max(state.clock, clock)
    val bound = if (isOnClock) state.clockBound else state.watermarkBound
    if (hasMoved && now >= bound) {
      firing.start(Cause.Rows, watermark, clock)
      close(state, now)
    } else Pulled.none
  }

  override def fired: Long = firing.count

  private def nowOf(watermark: Long, clock: Long): Long = if (isOnClock) clock else watermark

  /** The session that the row of `ofRow` makes if no other row belongs to it. */
  private def alone(ofRow: TimeWindow): TimeWindow =
    TimeWindow(ofRow.start, math.min(ofRow.end, checks.closing(ofRow.start)))

  /** Whether a row belongs to a session that has ended.
    *
    * A row may join an open session that it touches (flink.md 6.5). If the row is before this
    * session, the session starts at the row. Then the check that closes it must not have passed.
    */
  private def isLate(state: KeyState[A], ofRow: TimeWindow, watermark: Long): Boolean =
    !isOnClock && !(alone(ofRow).end > watermark && assigner.canOpen(ofRow, watermark)) &&
      !continues(state, ofRow) &&
      (checks.closing(ofRow.start) <= watermark || !precedes(state, ofRow))

  /** Whether `ofRow` starts within a part, or at its end. */
  private def continues(state: KeyState[A], ofRow: TimeWindow): Boolean = {
    val earlier =
      state.windows.headMap(TimeWindow(ofRow.start, Long.MaxValue), true).keySet.iterator
    var isFound = false
    while (!isFound && earlier.hasNext) isFound = reaches(earlier.next().end, ofRow)
    isFound
  }

  /** Whether a part starts within `ofRow`, or at its end. */
  private def precedes(state: KeyState[A], ofRow: TimeWindow): Boolean = {
    val next = state.windows.higherKey(TimeWindow(ofRow.start, Long.MaxValue))
    next != null && reaches(ofRow.end, next)
  }

  private def reaches(end: Long, next: TimeWindow): Boolean =
    Sessions.reaches(end, next.start, assigner.isInclusive)

  /** Finds, merges or opens the part that contains `ofRow`.
    *
    * @param time
    *   the time of the row that decides between which checks the part is
    */
  private def join(
      state: KeyState[A],
      ofRow: TimeWindow,
      time: Long,
      now: Long): WindowState[A] = {
    val from = checks.partFrom(time, now)
    val latest = state.latest
    if (latest != null && latest.bounds.start >= from && latest.bounds.contains(ofRow)) latest
    else {
      val parts = state.windows.subMap(
        TimeWindow(from, Long.MinValue),
        true,
        TimeWindow(checks.partUntil(time), Long.MinValue),
        false)
      val target = MergingWindows.targetOf(parts, ofRow, assigner.isInclusive)
      if (target.sources.isEmpty) open(state, ofRow)
      else if (target.isMerge) merge(state, target.sources, target.bounds)
      else target.sources.head
    }
  }

  private def merge(
      state: KeyState[A],
      sources: collection.Seq[WindowState[A]],
      bounds: TimeWindow): WindowState[A] = {
    sources.foreach(state.remove)
    val merged = open(state, bounds)
    data.merge(sources, merged)
    merged
  }

  private def open(state: KeyState[A], bounds: TimeWindow): WindowState[A] = {
    val part = new WindowState[A](bounds)
    state.add(part)
    // The session of the part cannot end earlier, whatever rows come.
    addTimer(state, part, math.min(bounds.end, checks.next(bounds.start)))
    part
  }

  private def addTimer(state: KeyState[A], part: WindowState[A], timer: Long): Unit = {
    part.timers(timeline).add(timer)
    state.noteTimer(timeline, timer)
  }

  /** Closes the sessions that have ended by `now`, in order of time. */
  private def close(state: KeyState[A], now: Long): Iterator[T] = {
    var session = firstSession(state)
    new PulledLoop[T] {
      override protected def continues: Boolean = session != null && session.bounds.end <= now
      override protected def turn(): Iterator[T] =
        Pulled.andDo(close(state, session, now)) { session = firstSession(state) }
      override protected def finish(): Unit = {
        if (session != null) awaitEnd(state, session)
        state.refreshBound(timeline)
      }
    }
  }

  /** The earliest session by the rows so far, or null if the key has none. */
  private def firstSession(state: KeyState[A]): OpenSession[A] =
    if (state.windows.isEmpty) null
    else {
      val open = state.windows.values.iterator
      val parts = ArrayBuffer(open.next())
      val start = parts.head.bounds.start
      val check = checks.closing(start)
      var end = parts.head.bounds.end
      var isWhole = false
      while (!isWhole && open.hasNext) {
        val next = open.next()
        isWhole = !reaches(end, next.bounds) || checks.isAfter(next.bounds.start, check)
        if (!isWhole) {
          parts += next
          end = math.max(end, next.bounds.end)
        }
      }
      new OpenSession(TimeWindow(start, math.min(end, check)), parts, end)
    }

  private def close(state: KeyState[A], session: OpenSession[A], now: Long): Iterator[T] = {
    val whole = new WindowState[A](session.bounds)
    session.parts.foreach(state.remove)
    data.merge(session.parts, whole)
    val fired =
      if (data.isEmpty(whole)) Pulled.none
      else {
        firing.setTimer(timeline, session.bounds.end)
        Pulled.andDo(firing.fire(whole))(data.clear(whole))
      }
    Pulled.andDo(fired) {
      if (session.bounds.end < session.uncheckedEnd) reopen(state, session, now)
    }
  }

  /** Opens a part without rows at the check that has closed a session. Skips the sessions without
    * rows that further checks would close.
    */
  private def reopen(state: KeyState[A], session: OpenSession[A], now: Long): Unit = {
    val end = session.uncheckedEnd
    val next = if (state.windows.isEmpty) null else state.windows.firstKey
    val passed = math.min(now, end)
    val until =
      if (next == null || !reaches(end, next)) passed
      else math.min(passed, checks.lastBefore(next.start))
    val check = checks.lastClosing(session.bounds.end, until)
    if (check < end)
      join(state, TimeWindow(check, end), checks.firstAfter(check), now): Unit
  }

  /** Replaces the timers of a session's parts by one timer at the end of the session. Their own
    * timers may have passed already.
    */
  private def awaitEnd(state: KeyState[A], session: OpenSession[A]): Unit = {
    session.parts.foreach { part =>
      val timers = part.timers(timeline)
      while (!timers.isEmpty) timers.remove(timers.first)
    }
    addTimer(state, session.parts.head, session.bounds.end)
  }
}

/** A session that the rows so far make.
  *
  * @param uncheckedEnd
  *   the end that the session would have if no check closed it
  */
private final class OpenSession[A <: AnyRef](
    val bounds: TimeWindow,
    val parts: collection.Seq[WindowState[A]],
    val uncheckedEnd: Long)
