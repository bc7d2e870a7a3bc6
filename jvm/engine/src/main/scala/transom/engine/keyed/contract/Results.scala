package transom.engine.keyed.contract

/** Receives the key to which the following rows and results belong. */
trait KeyListener {

  /** Sets the key. Called before the operator works on another key. */
  def pointAt(key: Array[Byte]): Unit
}

/** Builds the host's rows for the results of the current key, one by one, as they are read.
  * Arguments are valid only during the call: do not keep them. A row is valid until the next
  * call.
  *
  * @tparam T
  *   an output row of the host
  */
trait Results[R, A, T] extends KeyListener {

  /** Announces that the following results belong to a member of several windows in one pass.
    *
    * @param index
    *   the number of the member, from 0
    */
  def startMember(index: Int): Unit = ()

  /** The result for the accumulator of the window. */
  def result(window: FiredWindow, accumulator: A): T

  /** Whether results of a sweep also need the rows that have entered and left. */
  def takesChanges: Boolean = false

  /** The result for the accumulator of the window, with the rows that its windows have gained and
    * lost since the previous result. Called only if `takesChanges`.
    *
    * @param left
    *   none if the previous result was one of another key, or of another batch; then `entered`
    *   has all rows of the window
    */
  def changedResult(
      window: FiredWindow,
      accumulator: A,
      entered: Iterator[R],
      left: Option[Iterator[R]]): T = throw new UnsupportedOperationException

  /** The results for the rows of the window, in order of arrival.
    *
    * @param rows
    *   valid until the returned results are exhausted
    */
  def ofRows(window: FiredWindow, rows: Iterator[R]): Iterator[T]

  /** A change of a result, in the encoding of `WindowAggregation.result`. */
  def change(window: FiredWindow, change: Change, result: Array[Byte]): T

  /** The row for a window that is removed, after all of its results. Called only if
    * `KeyedPlan.reportsGone`.
    */
  def windowGone(window: FiredWindow): T
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

/** Describes one firing of a window among all firings of that window, as Beam's `PaneInfo` does.
  *
  * @param index
  *   number of earlier firings of the window, including the firings of sessions merged into the
  *   window. Always 0 if `KeyedPlan.countsPanes` is false, and for count windows.
  * @param isLast
  *   whether the window is cleaned up with this firing
  * @param number
  *   index of a count window among the count windows of its key, from 0. Exact only if
  *   `KeyedPlan.countsPanes`. None for other windows.
  * @param cause
  *   what caused the firing
  */
final case class PaneInfo(
    index: Int,
    timing: Timing,
    isLast: Boolean,
    number: Option[Long],
    cause: Cause)

/** Whether a firing is before the end of the window, at its end or after it.
  *
  * @param name
  *   the word that users see
  */
sealed abstract class Timing(val name: String) {
  override def toString: String = name
}

/** The values of [[Timing]]. */
object Timing {
  case object Early extends Timing("early")
  case object OnTime extends Timing("on_time")
  case object Late extends Timing("late")
}

/** What caused a firing.
  *
  * @param name
  *   the word that users see
  */
sealed abstract class Cause(val name: String) {
  override def toString: String = name
}

/** The values of [[Cause]]. */
object Cause {

  /** The watermark reached a timer. */
  case object Watermark extends Cause("watermark")

  /** The wall clock reached a timer. */
  case object Clock extends Cause("clock")

  /** A row arrived. */
  case object Rows extends Cause("rows")

  /** A micro-batch ended. */
  case object Batch extends Cause("batch")

  /** The idle timeout has moved the watermark to a timer. */
  case object Idle extends Cause("idle")

  /** The input has ended. */
  case object Drain extends Cause("drain")
}
