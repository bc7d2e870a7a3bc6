package transom.engine.keyed

/** Takes what windows give. What it is handed must not be kept beyond the call. */
trait Results[R, A] {

  /** A window of which accumulators are asked. */
  def emit(window: FiredWindow, accumulator: A): Unit

  /** A window of which all rows are asked, in the order of their arrival. */
  def emitRows(window: FiredWindow, rows: Iterator[R]): Unit

  /** A window of which changes are asked. */
  def emitChange(window: FiredWindow, change: Change, result: Array[Byte]): Unit

  /** A window that is forgotten, after all of its results; only if the plan asks for it. */
  def emitEnd(window: FiredWindow): Unit
}

/** How a result stands to those before it. */
sealed trait Change

object Change {

  /** The first result of a window. */
  case object Insert extends Change

  /** An earlier result that holds no more. */
  case object UpdateBefore extends Change

  /** The result that takes its place. */
  case object UpdateAfter extends Change
}

/** A window that gives a result.
  *
  * @param start
  *   where it begins, an instant; of a count window the time of its first row
  * @param end
  *   where it ends; of a count window the time of its last row
  * @param watermark
  *   how far event time had come
  */
final class FiredWindow(
    val start: Long,
    val end: Long,
    val pane: PaneInfo,
    val watermark: Long,
    state: WindowState[_],
    isMerging: Boolean) {

  /** What the user's function keeps for the window until it is cleaned up; null at first. */
  def userState: Array[Byte] = state.userState

  /** Windows that merge have none: whose it would be is not defined (flink.md 6.10). */
  def userState_=(bytes: Array[Byte]): Unit = {
    if (isMerging)
      throw new UnsupportedOperationException(
        "Per-window state is not allowed when using merging windows.")
    state.userState = bytes
  }
}
