package transom.engine.time

/** Saturating arithmetic on microseconds: results stop at the bounds of `Long` instead of
  * overflowing.
  *
  * A watermark of `Long.MaxValue` means that time has ended. A sum that exceeds this value must
  * stay there.
  */
private[engine] object Ticks {

  final val PerSecond = 1000000L
  final val PerDay = 86400L * PerSecond

  /** Returns `a + b`, saturated. */
  def add(a: Long, b: Long): Long = {
    val sum = a + b
    if (((a ^ sum) & (b ^ sum)) < 0) { if (a < 0) Long.MinValue else Long.MaxValue }
    else sum
  }

  /** Returns `a - b`, saturated. */
  def subtract(a: Long, b: Long): Long = {
    val difference = a - b
    if (((a ^ b) & (a ^ difference)) < 0) { if (a < 0) Long.MinValue else Long.MaxValue }
    else difference
  }

  /** The distance from the last boundary `k * width + offset` to `time`. `offset` is in [0,
    * width).
    */
  def sinceBoundary(time: Long, width: Long, offset: Long): Long = {
    val rest = Math.floorMod(time, width) - offset
    if (rest < 0) rest + width else rest
  }

  /** The last boundary at or before `time`. The result is never `Long.MinValue`, which means "no
    * slice". A boundary before the first instant becomes `Long.MinValue + 1`.
    */
  def boundaryAtOrBefore(time: Long, width: Long, offset: Long): Long =
    Math.max(Long.MinValue + 1, subtract(time, sinceBoundary(time, width, offset)))

  /** The first boundary after `time`, saturated. */
  def boundaryAfter(time: Long, width: Long, offset: Long): Long =
    add(time, width - sinceBoundary(time, width, offset))

  /** The greatest common divisor of two positive numbers. */
  def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}
