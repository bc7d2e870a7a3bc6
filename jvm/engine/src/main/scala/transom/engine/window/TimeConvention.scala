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

  def of(window: Window): TimeConvention = window match {
    case grid: GridWindow if grid.closed == Closed.Right => TimeConvention(1L, 1L)
    case Snapshot(Closed.Right) => TimeConvention(1L, 1L)
    // A session starts at a row, so only its end moves.
    case session: SessionWindow if session.closed == Closed.Right =>
      TimeConvention(0L, 1L)
    // Members with conventions of their own convert times themselves.
    case Windows(windows) =>
      val conventions = windows.map(member => of(member.window)).distinct
      if (conventions.length == 1) conventions.head else Start
    case _ => Start
  }
}
