package transom.engine.keyed.keystate

import java.util.Arrays

/** Timers of a window on one timeline: a set of times in ascending order.
  *
  * A window mostly has one timer, so the earliest one is a field. Only further timers need an
  * array.
  */
final class Timers {
  private var earliest = Long.MaxValue
  private var later = Array.emptyLongArray
  private var count = 0

  def size: Int = count

  def apply(i: Int): Long = if (i == 0) earliest else later(i - 1)

  def isEmpty: Boolean = count == 0

  /** The earliest timer; `Long.MaxValue` if there is none. */
  def first: Long = earliest

  /** Adds a timer. Adding an existing timer has no effect (flink.md 3.1). */
  def add(timer: Long): Unit =
    if (count == 0) {
      earliest = timer
      count = 1
    } else if (timer < earliest) {
      insert(earliest)
      earliest = timer
    } else if (timer > earliest) insert(timer)

  def remove(timer: Long): Unit =
    if (count > 0 && timer == earliest) {
      earliest = if (count > 1) later(0) else Long.MaxValue
      removeLater(0)
    } else {
      var i = 0
      while (i < count - 1 && later(i) != timer) i += 1
      if (i < count - 1) removeLater(i)
    }

  /** Adds a timer to `later`. */
  private def insert(timer: Long): Unit = {
    val length = count - 1
    var i = length
    while (i > 0 && later(i - 1) > timer) i -= 1
    if (i == 0 || later(i - 1) != timer) {
      if (length == later.length) later = Arrays.copyOf(later, math.max(2, 2 * length))
      System.arraycopy(later, i, later, i + 1, length - i)
      later(i) = timer
      count += 1
    }
  }

  /** Removes a timer, and from `later` the one at `i`, if there is one. */
  private def removeLater(i: Int): Unit = {
    count -= 1
    if (i < count) System.arraycopy(later, i + 1, later, i, count - i - 1)
  }
}
