package transom.engine.keyed.several

import transom.engine.keyed._
import transom.engine.keyed.keystate.{Contents, PerKeyState}
import transom.engine.time.Watermark
import transom.engine.window.{Arrival, TimeConvention, Window, Windows}

/** A member of several windows in one pass. */
private[several] final class Member[R](
    val window: Window,
    val times: MemberTimes,
    val operators: PerKeyOperators[R, PerKeyState])

/** Converts times and watermarks between the convention of all members and that of one.
  *
  * @param timeShift
  *   by how many microseconds the member's time of a row is earlier
  * @param watermarkShift
  *   by how many microseconds the member's watermark is earlier
  * @param clockShift
  *   by how many microseconds the member's wall clock is earlier
  */
private[several] final class MemberTimes(
    timeShift: Long,
    val watermarkShift: Long,
    clockShift: Long) {

  def timeIn(time: Long): Long = if (time == Arrival.NoTime) time else time - timeShift

  def watermarkIn(watermark: Long): Long = Watermark.minus(watermark, watermarkShift)

  def watermarkOut(watermark: Long): Long = Watermark.minus(watermark, -watermarkShift)

  def clockIn(clock: Long): Long = Watermark.minus(clock, clockShift)

  def clockOut(clock: Long): Long = Watermark.minus(clock, -clockShift)
}

private[several] object MemberTimes {

  /** @param isOnClock
    *   whether the wall clock fires the windows, so that it is converted like a watermark
    */
  def of(window: Window, windows: Windows, isOnClock: Boolean): MemberTimes = {
    val own = TimeConvention.of(window)
    val common = TimeConvention.of(windows)
    val watermarkShift = own.watermarkShift - common.watermarkShift
    new MemberTimes(
      own.timeShift - common.timeShift,
      watermarkShift,
      if (isOnClock) watermarkShift else 0L)
  }
}

/** The raw rows of a member. Each member has lists of its own. */
private[several] final class MemberRows[R](rows: Contents[R], member: Int, times: MemberTimes)
    extends Contents[R] {
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
private[several] final class MemberResults[R, A](
    results: Results[R, A],
    member: Int,
    times: MemberTimes)
    extends Results[R, A] {

  override def pointAt(key: Array[Byte]): Unit = results.pointAt(key)

  override def emit(window: FiredWindow, accumulator: A): Unit =
    results.emit(marked(window), accumulator)

  override def emitRows(window: FiredWindow, rows: Iterator[R]): Iterator[Unit] =
    results.emitRows(marked(window), rows)

  override def emitChange(window: FiredWindow, change: Change, result: Array[Byte]): Unit =
    results.emitChange(marked(window), change, result)

  override def emitEnd(window: FiredWindow): Unit = results.emitEnd(marked(window))

  private def marked(window: FiredWindow): FiredWindow = {
    results.startMember(member)
    if (times.watermarkShift == 0L) window
    else {
      val watermark = times.watermarkOut(window.watermark)
      new FiredWindow(window.start, window.end, window.pane, watermark)
    }
  }
}
