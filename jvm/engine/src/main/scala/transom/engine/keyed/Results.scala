package transom.engine.keyed

/** Receives the results of windows, one by one. Arguments are valid only during the call: do not
  * keep them.
  */
trait Results[R, A] extends KeyListener {

  /** Announces that the following results belong to a member of several windows in one pass.
    *
    * @param index
    *   the number of the member, from 0
    */
  def startMember(index: Int): Unit = ()

  /** Emits a result as the accumulator of the window. */
  def emit(window: FiredWindow, accumulator: A): Unit

  /** Whether results of a sweep also need the rows that have entered and left. */
  def takesChanges: Boolean = false

  /** Emits a result as the accumulator of the window, with the rows that its windows have gained
    * and lost since the previous result. Called only if `takesChanges`.
    *
    * @param left
    *   none if the previous result was one of another key, or of another batch; then `entered`
    *   has all rows of the window
    */
  def emitChanged(
      window: FiredWindow,
      accumulator: A,
      entered: Iterator[R],
      left: Option[Iterator[R]]): Unit = throw new UnsupportedOperationException

  /** Emits a result as the rows of the window, in order of arrival.
    *
    * @param rows
    *   valid until the returned steps are exhausted
    */
  def emitRows(window: FiredWindow, rows: Iterator[R]): Iterator[Unit]

  /** Emits a change of a result, in the encoding of `WindowAggregation.result`. */
  def emitChange(window: FiredWindow, change: Change, result: Array[Byte]): Unit

  /** Signals that a window is removed, after all of its results. Called only if
    * `KeyedPlan.emitsEnds`.
    */
  def emitEnd(window: FiredWindow): Unit
}

/** How a result relates to earlier results of the window, as Flink's `RowKind` does.
  *
  * @param name
  *   the sign that users see
  */
sealed abstract class Change(val name: String) {
  override def toString: String = name
}

/** The values of [[Change]]. */
object Change {

  /** The first result of a window. */
  case object Insert extends Change("+I")

  /** Retracts an earlier result. */
  case object UpdateBefore extends Change("-U")

  /** Replaces a retracted result. */
  case object UpdateAfter extends Change("+U")
}

/** A window that emits a result. Times are microseconds.
  *
  * @param start
  *   instant at which the window starts; for count windows, the minimum time of the rows
  * @param end
  *   instant at which the window ends; for count windows, the maximum time of the rows
  * @param watermark
  *   the watermark at the firing
  */
final class FiredWindow(val start: Long, val end: Long, val pane: PaneInfo, val watermark: Long)
