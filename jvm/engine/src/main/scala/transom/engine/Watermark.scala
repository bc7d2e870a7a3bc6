package transom.engine

/** A watermark is an instant in microseconds since 1970, or [[Watermark.NotYet]]. */
object Watermark {

  /** No watermark has been computed yet: no window has ended, and no row is late. The value lies
    * before every instant, so comparisons need no case of their own.
    */
  final val NotYet = Long.MinValue

  /** The watermark `shift` microseconds earlier. `NotYet` and the end of all time stay as they
    * are.
    */
  def minus(watermark: Long, shift: Long): Long =
    if (watermark == NotYet || watermark == Long.MaxValue) watermark else watermark - shift
}
