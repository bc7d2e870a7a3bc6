package transom.engine.keyed

/** What a result is among the results of its window.
  *
  * @param index
  *   how many results the window, or sessions that are now part of it, gave before
  * @param isLast
  *   whether the window is cleaned up with this result, so that it can give no other
  * @param number
  *   of a count window, how many come before it
  */
final case class PaneInfo(
    index: Int,
    timing: Timing,
    isLast: Boolean,
    number: Option[Long],
    cause: Cause)

/** Before the end of the window, at its end, or after it. */
sealed trait Timing

object Timing {
  case object Early extends Timing
  case object OnTime extends Timing
  case object Late extends Timing
}

/** What made a window give a result. */
sealed trait Cause

object Cause {
  case object Watermark extends Cause
  case object Clock extends Cause
  case object Rows extends Cause
  case object Batch extends Cause

  /** The input has ended. */
  case object Drain extends Cause
}
