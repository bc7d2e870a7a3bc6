package transom.engine.keyed

import transom.engine.firing.Conditions
import transom.engine.keyed.contract._
import transom.engine.runtime.Pulled
import transom.engine.spec.{ProcessingTime, WindowSpec}
import transom.engine.state.{StateReader, StateWriter}
import transom.engine.time.{Timeline, Watermark}
import transom.engine.window._

/** Creates the operators of several windows in one pass, for the windows that share no slices.
  *
  * A key has one state, which holds the state of each member. Each member has rows of its own.
  * Members may have different conventions of their bounds, so times and watermarks are converted
  * for each of them.
  *
  * @param rowCodec
  *   copies rows, because members may read other rows through a shared instance
  */
private final class SeveralOperators[R, A <: AnyRef, T](
    spec: WindowSpec,
    windows: Windows,
    aggregation: WindowAggregation[R, A],
    rowCodec: RowCodec[R],
    rows: RowStore[R],
    conditions: => Conditions[R, A],
    results: Results[R, A, T])
    extends PerKeyOperators[R, SeveralStates, T] {

  private val members: Vector[Member[R, T]] = windows.members.toVector.zipWithIndex.map {
    case (window, index) =>
      val times = MemberTimes.of(window, windows, spec.time.contains(ProcessingTime))
      val operators = KeyedOperators.of(
        spec.copy(window = window),
        aggregation,
        rowCodec,
        new MemberRows(rows, index, times),
        conditions,
        new MemberResults(results, index, times))
      // A member gets only the states that its own codec has created.
      new Member(window, times, operators.asInstanceOf[PerKeyOperators[R, PerKeyState, T]])
  }

  override val codec: PerKeyCodec[SeveralStates] =
    new SeveralCodec(members.map(_.operators.codec), members.map(_.times))

  override def timeline: Timeline = members.head.operators.timeline

  override def weightOf(row: R): Int = members.iterator.map(_.operators.weightOf(row)).sum

  override def of(group: Int, firstRow: => Long): PerKeyOperator[R, SeveralStates, T] =
    new SeveralOperator(members, members.map(_.operators.of(group, firstRow)), rowCodec)
}

/** A member of several windows in one pass. */
private final class Member[R, T](
    val window: Window,
    val times: MemberTimes,
    val operators: PerKeyOperators[R, PerKeyState, T])

/** The window operator of several windows in one pass, for one key at a time. Each member assigns
  * the row and fires as if it were alone. A row is late if no member takes it and at least one
  * has missed it. Not thread-safe.
  */
private final class SeveralOperator[R, T](
    members: Vector[Member[R, T]],
    operators: Vector[PerKeyOperator[R, PerKeyState, T]],
    codec: RowCodec[R])
    extends PerKeyOperator[R, SeveralStates, T] {
  private val ofMember = new RowContext
  // The members that have missed the last row.
  private var missed = Vector.empty[Int]
  // The windows that had missed it when it was tried before.
  private var missedBefore = MissedWindows.None
  private var isTaken = false
  private var resumed = SeveralRetry.None

  override def process(states: SeveralStates, row: R, context: RowContext): Iterator[T] = {
    val open = resumed.members.getOrElse(members.indices)
    missedBefore = resumed.missed
    isTaken = resumed.isTaken
    resumed = SeveralRetry.None
    missed = Vector.empty
    val bytes = codec.encode(row)
    val copy = codec.decode(bytes, 0, bytes.length)
    open.iterator.flatMap { i =>
      Pulled.andDo(operators(i).process(states(i), copy, contextOf(members(i).times, context)))(
        note(i))
    }
  }

  /** Notes what has become of the row in a member. */
  private def note(member: Int): Unit = {
    val outcome = operators(member).outcome
    val isPartly = outcome == RowOutcome.PartlyLate
    if (isPartly || outcome == RowOutcome.Late) missed :+= member
    isTaken ||= isPartly || outcome == RowOutcome.Added
  }

  override def outcome: RowOutcome = {
    val isMissed = missed.nonEmpty || missedBefore.listed.nonEmpty
    if (!isMissed) if (isTaken) RowOutcome.Added else RowOutcome.NoWindow
    else if (isTaken) RowOutcome.PartlyLate
    else RowOutcome.Late
  }

  override def missedWindows: MissedWindows =
    MissedWindows.merged(missedBefore +: missed.map(operators(_).missedWindows))

  /** Only windows that merge may take the row later. */
  override def retry(outcome: RowOutcome): Retry = {
    val (merging, others) = missed.partition(members(_).window.isMerging)
    if (merging.isEmpty) null
    else
      new SeveralRetry(
        merging.map(operators(_).lastMissedEnd).max,
        Some(merging),
        MissedWindows.merged(others.map(operators(_).missedWindows)),
        isTaken)
  }

  override def resume(retry: Retry): Unit = resumed = retry.asInstanceOf[SeveralRetry]

  // The idle timeout cannot be used with several windows.
  override def advance(
      states: SeveralStates,
      watermark: Long,
      clock: Long,
      watermarkByRows: Long): Iterator[T] =
    each { (operator, i, times) =>
      operator.advance(states(i), times.watermarkIn(watermark), times.clockIn(clock))
    }

  override def fired: Long = operators.map(_.fired).sum

  override def seesBatches: Boolean = operators.exists(_.seesBatches)

  override def endBatch(states: SeveralStates, watermark: Long, clock: Long): Iterator[T] =
    each { (operator, i, times) =>
      operator.endBatch(states(i), times.watermarkIn(watermark), times.clockIn(clock))
    }

  private def each(
      act: (PerKeyOperator[R, PerKeyState, T], Int, MemberTimes) => Iterator[T]): Iterator[T] =
    operators.indices.iterator.flatMap(i => act(operators(i), i, members(i).times))

  private def contextOf(times: MemberTimes, context: RowContext): RowContext = {
    ofMember.set(context)
    ofMember.time = times.timeIn(context.time)
    if (ofMember.end != RowContext.NoEnd) ofMember.end = times.timeIn(context.end)
    ofMember.watermark = times.watermarkIn(context.watermark)
    ofMember.firedBy = times.watermarkIn(context.firedBy)
    ofMember.clock = times.clockIn(context.clock)
    ofMember
  }
}

/** How a row is tried again that some members have missed.
  *
  * @param members
  *   the members that may still take the row; none if all may
  * @param missed
  *   the windows of the other members that have missed the row
  * @param isTaken
  *   whether a member has taken the row
  */
private final class SeveralRetry(
    end: Long,
    val members: Option[Vector[Int]],
    val missed: MissedWindows,
    val isTaken: Boolean)
    extends Retry(end)

private object SeveralRetry {

  /** The row is tried for the first time. */
  val None: SeveralRetry = new SeveralRetry(0L, scala.None, MissedWindows.None, isTaken = false)
}

/** Converts times and watermarks between the convention of all members and that of one.
  *
  * @param timeShift
  *   by how many microseconds the member's time of a row is earlier
  * @param watermarkShift
  *   by how many microseconds the member's watermark is earlier
  * @param clockShift
  *   by how many microseconds the member's wall clock is earlier
  */
private final class MemberTimes(timeShift: Long, val watermarkShift: Long, clockShift: Long) {

  def timeIn(time: Long): Long = if (time == RowContext.NoTime) time else time - timeShift

  def watermarkIn(watermark: Long): Long = Watermark.minus(watermark, watermarkShift)

  def watermarkOut(watermark: Long): Long = Watermark.minus(watermark, -watermarkShift)

  def clockIn(clock: Long): Long = Watermark.minus(clock, clockShift)

  def clockOut(clock: Long): Long = Watermark.minus(clock, -clockShift)
}

private object MemberTimes {

  /** @param isOnClock
    *   whether the wall clock fires the windows, so that it is converted like a watermark
    */
  def of(window: Window, windows: Windows, isOnClock: Boolean): MemberTimes = {
    val ofMember = window.convention
    val ofAll = windows.convention
    val watermarkShift = ofMember.watermarkShift - ofAll.watermarkShift
    new MemberTimes(
      ofMember.timeShift - ofAll.timeShift,
      watermarkShift,
      if (isOnClock) watermarkShift else 0L)
  }
}

/** The raw rows of a member. Each member has lists of its own. */
private final class MemberRows[R](rows: RowStore[R], member: Int, times: MemberTimes)
    extends RowStore[R] {
  private val offset = member.toLong << MemberRows.Shift

  override def put(list: Long, sequence: Long, row: R): Unit =
    rows.put(offset + list, sequence, row)
  override def get(list: Long, sequence: Long): R = rows.get(offset + list, sequence)
  override def getBytes(list: Long, number: Long): Array[Byte] =
    rows.getBytes(offset + list, number)
  override def putBytes(list: Long, number: Long, bytes: Array[Byte]): Unit =
    rows.putBytes(offset + list, number, bytes)
  override def remove(list: Long, sequence: Long): Unit = rows.remove(offset + list, sequence)
  override def timeOf(row: R): Long = times.timeIn(rows.timeOf(row))
}

private object MemberRows {

  /** A key may open 2^48 lists for each member. */
  final val Shift = 48
}

/** Marks the results of a member, and converts their watermarks. */
private final class MemberResults[R, A, T](
    results: Results[R, A, T],
    member: Int,
    times: MemberTimes)
    extends Results[R, A, T] {

  override def pointAt(key: Array[Byte]): Unit = results.pointAt(key)

  override def result(window: FiredWindow, accumulator: A): T =
    results.result(marked(window), accumulator)

  override def ofRows(window: FiredWindow, rows: Iterator[R]): Iterator[T] =
    results.ofRows(marked(window), rows)

  override def change(window: FiredWindow, change: Change, result: Array[Byte]): T =
    results.change(marked(window), change, result)

  override def windowGone(window: FiredWindow): T = results.windowGone(marked(window))

  private def marked(window: FiredWindow): FiredWindow = {
    results.startMember(member)
    if (times.watermarkShift == 0L) window
    else {
      val watermark = times.watermarkOut(window.watermark)
      new FiredWindow(window.start, window.end, window.pane, watermark)
    }
  }
}

/** State of one key: the states of all members. */
private final class SeveralStates(states: IndexedSeq[PerKeyState], times: IndexedSeq[MemberTimes])
    extends PerKeyState {

  def apply(member: Int): PerKeyState = states(member)

  override def nextTimer: Long =
    states.indices.iterator.map(i => times(i).watermarkOut(states(i).nextTimer)).min

  override def nextClockTimer: Long =
    states.indices.iterator.map(i => times(i).clockOut(states(i).nextClockTimer)).min

  override def isEmpty: Boolean = states.forall(_.isEmpty)

  override def heldBytes: Long = states.iterator.map(_.heldBytes).sum
}

/** Encodes and decodes the states of keys: the state of each member, each with its length. */
private final class SeveralCodec(
    codecs: Vector[PerKeyCodec[PerKeyState]],
    times: Vector[MemberTimes])
    extends PerKeyCodec[SeveralStates] {
  private val out = new StateWriter

  override def create(): SeveralStates = new SeveralStates(codecs.map(_.create()), times)

  override def encode(states: SeveralStates): Array[Byte] = {
    codecs.indices.foreach(i => out.array(codecs(i).encode(states(i))))
    out.take()
  }

  override def removeEntries(states: SeveralStates): Unit =
    codecs.indices.foreach(i => codecs(i).removeEntries(states(i)))

  override def decode(bytes: Array[Byte]): SeveralStates = {
    val in = new StateReader(bytes)
    new SeveralStates(codecs.map(_.decode(in.array())), times)
  }
}
