package transom.engine.keyed.state

import java.util.Arrays

/** Timers of a window on one timeline: a set of times in ascending order.
  *
  * A window mostly has one or two timers, so they are held in an array (benchmarks/jmh,
  * KeyedOperatorBenchmark).
  */
final class Timers {
  private var times = Timers.NoTimes
  private var count = 0

  def size: Int = count

  def apply(i: Int): Long = times(i)

  def isEmpty: Boolean = count == 0

  /** The earliest timer; `Long.MaxValue` if there is none. */
  def first: Long = if (count == 0) Long.MaxValue else times(0)

  /** Adds a timer. Adding an existing timer has no effect (flink.md 3.1). */
  def add(timer: Long): Unit = {
    var i = count
    while (i > 0 && times(i - 1) > timer) i -= 1
    if (i == 0 || times(i - 1) != timer) {
      if (count == times.length) times = Arrays.copyOf(times, math.max(2, 2 * count))
      System.arraycopy(times, i, times, i + 1, count - i)
      times(i) = timer
      count += 1
    }
  }

  def remove(timer: Long): Unit = {
    var i = 0
    while (i < count && times(i) != timer) i += 1
    if (i < count) {
      System.arraycopy(times, i + 1, times, i, count - i - 1)
      count -= 1
    }
  }
}

private object Timers {
  val NoTimes = new Array[Long](0)
}
