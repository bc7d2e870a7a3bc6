package transom.engine.keyed

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

/** Whether a firing is before the end of the window, at its end or after it. */
sealed trait Timing

object Timing {
  case object Early extends Timing
  case object OnTime extends Timing
  case object Late extends Timing
}

/** What caused a firing. */
sealed trait Cause

object Cause {

  /** The watermark reached a timer. */
  case object Watermark extends Cause

  /** The wall clock reached a timer. */
  case object Clock extends Cause

  /** A row arrived. */
  case object Rows extends Cause

  /** A micro-batch ended. */
  case object Batch extends Cause

  /** The input has ended. */
  case object Drain extends Cause
}
