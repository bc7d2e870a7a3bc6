package transom.engine.time

/** Helpers for watermarks: instants in microseconds since 1970, or [[Watermark.NotYet]]. */
object Watermark {

  /** No watermark has been computed yet: no window has ended, and no row is late. The value is
    * before every instant, so comparisons need no special case.
    */
  final val NotYet = Long.MinValue

  /** Returns the watermark `shift` microseconds earlier. `NotYet` and the end of time do not
    * change.
    */
  def minus(watermark: Long, shift: Long): Long =
    if (watermark == NotYet || watermark == Long.MaxValue) watermark else watermark - shift
}
