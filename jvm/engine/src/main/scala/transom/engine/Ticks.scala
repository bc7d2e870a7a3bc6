package transom.engine

/** Arithmetic on microseconds that stops at the ends of `Long` instead of wrapping around.
  *
  * A watermark of `Long.MaxValue` means "time has ended", so sums that pass it must stay there.
  */
private[engine] object Ticks {

  final val PerSecond = 1000000L
  final val PerDay = 86400L * PerSecond

  def add(a: Long, b: Long): Long = {
    val sum = a + b
    if (((a ^ sum) & (b ^ sum)) < 0) { if (a < 0) Long.MinValue else Long.MaxValue }
    else sum
  }

  def subtract(a: Long, b: Long): Long = {
    val difference = a - b
    if (((a ^ b) & (a ^ difference)) < 0) { if (a < 0) Long.MinValue else Long.MaxValue }
    else difference
  }

  /** How far `time` lies behind the last boundary `k * width + offset`; `offset` in [0, width).
    */
  def sinceBoundary(time: Long, width: Long, offset: Long): Long = {
    val rest = Math.floorMod(time, width) - offset
    if (rest < 0) rest + width else rest
  }

  /** The last boundary at or before `time`. Never `Long.MinValue`, which stands for "no slice": a
    * boundary before the beginning of time is the instant after it.
    */
  def boundaryAtOrBefore(time: Long, width: Long, offset: Long): Long =
    Math.max(Long.MinValue + 1, subtract(time, sinceBoundary(time, width, offset)))

  def boundaryAfter(time: Long, width: Long, offset: Long): Long =
    add(time, width - sinceBoundary(time, width, offset))

  def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}
