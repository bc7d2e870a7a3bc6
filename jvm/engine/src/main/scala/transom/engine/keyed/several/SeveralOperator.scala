package transom.engine.keyed.several

import transom.engine.keyed._
import transom.engine.keyed.keystate.PerKeyState
import transom.engine.window._

/** The window operator of several windows in one pass, for one key at a time. Each member assigns
  * the row and fires as if it were alone. A row is late if no member takes it and at least one
  * has missed it. Not thread-safe.
  */
private[several] final class SeveralOperator[R](
    members: Vector[Member[R]],
    operators: Vector[PerKeyOperator[R, PerKeyState]],
    codec: RowCodec[R])
    extends PerKeyOperator[R, SeveralStates] {
  private val own = new Arrival
  // The members that have missed the last row.
  private var missed = Vector.empty[Int]
  // The windows that had missed it when it was tried before.
  private var missedBefore = MissedWindows.None
  private var isTaken = false
  private var resumed = SeveralRetry.None

  override def process(states: SeveralStates, row: R, arrival: Arrival): Iterator[Unit] = {
    val open = resumed.members.getOrElse(members.indices)
    missedBefore = resumed.missed
    isTaken = resumed.isTaken
    resumed = SeveralRetry.None
    missed = Vector.empty
    val bytes = codec.encode(row)
    val copy = codec.decode(bytes, 0, bytes.length)
    open.iterator.flatMap { i =>
      Steps.andDo(operators(i).process(states(i), copy, arrivalOf(members(i).times, arrival)))(
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
      watermarkByRows: Long): Iterator[Unit] =
    each { (operator, i, times) =>
      operator.advance(states(i), times.watermarkIn(watermark), times.clockIn(clock))
    }

  override def fired: Long = operators.map(_.fired).sum

  override def seesBatches: Boolean = operators.exists(_.seesBatches)

  override def endBatch(states: SeveralStates, watermark: Long, clock: Long): Iterator[Unit] =
    each { (operator, i, times) =>
      operator.endBatch(states(i), times.watermarkIn(watermark), times.clockIn(clock))
    }

  private def each(
      act: (PerKeyOperator[R, PerKeyState], Int, MemberTimes) => Iterator[Unit]): Iterator[Unit] =
    operators.indices.iterator.flatMap(i => act(operators(i), i, members(i).times))

  private def arrivalOf(times: MemberTimes, arrival: Arrival): Arrival = {
    own.set(arrival)
    own.time = times.timeIn(arrival.time)
    if (own.end != Arrival.NoEnd) own.end = times.timeIn(arrival.end)
    own.watermark = times.watermarkIn(arrival.watermark)
    own.clock = times.clockIn(arrival.clock)
    own
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
