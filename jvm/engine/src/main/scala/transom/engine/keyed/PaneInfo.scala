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
