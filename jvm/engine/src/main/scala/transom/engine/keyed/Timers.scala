package transom.engine.keyed

import java.util.Arrays

/** The instants at which a window wants to be woken on one timeline: a set in ascending order.
  * Mostly one or two, hence an array (benchmarks/jmh, KeyedOperatorBenchmark).
  */
final class Timers {
  private var dues = Timers.NoDues
  private var count = 0

  def size: Int = count

  def apply(i: Int): Long = dues(i)

  def isEmpty: Boolean = count == 0

  /** The earliest, `Long.MaxValue` if there is none. */
  def first: Long = if (count == 0) Long.MaxValue else dues(0)

  /** Setting a timer twice is setting it once (flink.md 3.1). */
  def add(due: Long): Unit = {
    var i = count
    while (i > 0 && dues(i - 1) > due) i -= 1
    if (i == 0 || dues(i - 1) != due) {
      if (count == dues.length) dues = Arrays.copyOf(dues, math.max(2, 2 * count))
      System.arraycopy(dues, i, dues, i + 1, count - i)
      dues(i) = due
      count += 1
    }
  }

  def remove(due: Long): Unit = {
    var i = 0
    while (i < count && dues(i) != due) i += 1
    if (i < count) {
      System.arraycopy(dues, i + 1, dues, i, count - i - 1)
      count -= 1
    }
  }
}

private object Timers {
  val NoDues = new Array[Long](0)
}
