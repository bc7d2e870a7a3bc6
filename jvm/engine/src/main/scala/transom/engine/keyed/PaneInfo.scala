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
final class Timing private (val name: String) {
  override def toString: String = name
}

/** The values of [[Timing]]. */
object Timing {
  val Early: Timing = new Timing("early")
  val OnTime: Timing = new Timing("on_time")
  val Late: Timing = new Timing("late")

  val all: Seq[Timing] = Seq(Early, OnTime, Late)
}

/** What caused a firing.
  *
  * @param name
  *   the word that users see
  */
final class Cause private (val name: String) {
  override def toString: String = name
}

/** The values of [[Cause]]. */
object Cause {

  /** The watermark reached a timer. */
  val Watermark: Cause = new Cause("watermark")

  /** The wall clock reached a timer. */
  val Clock: Cause = new Cause("clock")

  /** A row arrived. */
  val Rows: Cause = new Cause("rows")

  /** A micro-batch ended. */
  val Batch: Cause = new Cause("batch")

  /** The idle timeout has moved the watermark to a timer. */
  val Idle: Cause = new Cause("idle")

  /** The input has ended. */
  val Drain: Cause = new Cause("drain")

  val all: Seq[Cause] = Seq(Watermark, Clock, Rows, Batch, Idle, Drain)
}
