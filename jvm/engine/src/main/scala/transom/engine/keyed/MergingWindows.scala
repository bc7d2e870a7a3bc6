package transom.engine.keyed

import java.util.TreeMap

import scala.collection.mutable.ArrayBuffer

import transom.engine.{Sessions, TimeWindow}

/** Which windows of a key become one with another. */
private[keyed] object MergingWindows {

  /** Those that `own` meets, in order of time. `windows` do not meet each other. */
  def meeting[T](
      windows: TreeMap[TimeWindow, T],
      own: TimeWindow,
      inclusive: Boolean): ArrayBuffer[T] = {
    val met = ArrayBuffer.empty[T]
    // No two meet, so of those that begin before, the last reaches furthest.
    var next = windows.lowerEntry(own)
    if (next == null || !Sessions.intersects(next.getKey, own, inclusive)) {
      next = windows.ceilingEntry(own)
    }
    while (next != null && next.getKey.start <= own.end) {
      if (Sessions.intersects(next.getKey, own, inclusive)) met += next.getValue
      next = windows.higherEntry(next.getKey)
    }
    met
  }
}
