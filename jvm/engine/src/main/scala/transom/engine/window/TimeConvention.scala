package transom.engine.window

import transom.engine.time.Watermark

/** Converts times and watermarks between the host's convention and the engine's.
  *
  * The windows of the engine include their start and exclude their end. Windows with
  * `closed="right"` are the other way round. For these windows, the engine sees rows and
  * watermarks 1 microsecond earlier. A row at the end of a window then lies within the window.
  *
  * Bounds of windows are the same on both sides. `NotYet` and the end of time are never moved.
  *
  * @param timeShift
  *   by how many microseconds the engine's time of a row is earlier
  * @param watermarkShift
  *   by how many microseconds the engine's watermark is earlier
  */
final case class TimeConvention private (timeShift: Long, watermarkShift: Long) {

  /** The engine's time of a row. */
  def timeIn(time: Long): Long = time - timeShift

  /** The host's time of a row. */
  def timeOut(time: Long): Long = time + timeShift

  /** The engine's watermark. */
  def watermarkIn(watermark: Long): Long = Watermark.minus(watermark, watermarkShift)

  /** The host's watermark. */
  def watermarkOut(watermark: Long): Long = Watermark.minus(watermark, -watermarkShift)

  /** The host's watermark; none if there is no watermark yet. */
  def reached(watermark: Long): Option[Long] =
    Option.when(watermark != Watermark.NotYet)(watermarkOut(watermark))
}

/** Chooses conventions. */
object TimeConvention {

  /** The convention of windows that include their start. */
  val Start: TimeConvention = TimeConvention(0L, 0L)

  /** The convention of windows that include their end instead of their start. */
  val End: TimeConvention = TimeConvention(1L, 1L)

  /** The convention of sessions that include their end. */
  val SessionEnd: TimeConvention = TimeConvention(0L, 1L)

  /** The convention of windows that include this bound. Sessions have their own. */
  def of(closed: Closed): TimeConvention = closed match {
    case Closed.Left => Start
    case Closed.Right => End
  }
}

/** Which bound of a window is inclusive. */
sealed trait Closed

/** The values of [[Closed]]. */
object Closed {

  /** The start is inclusive, the end exclusive. */
  case object Left extends Closed

  /** The start is exclusive, the end inclusive. */
  case object Right extends Closed
}
