package transom.engine.keyed

import java.util.{Map, TreeMap}

import scala.collection.mutable.ArrayBuffer

import transom.engine.{Sessions, TimeWindow}

/** Which windows of a key become one with another. */
object MergingWindows {

  /** @param bounds
    *   the window that the new one is now part of
    * @param sources
    *   those that it met, in order of time
    * @param isMerge
    *   whether `bounds` is neither the new window alone nor one that was there before
    */
  final case class MergeTarget[T](
      bounds: TimeWindow,
      sources: collection.Seq[T],
      isMerge: Boolean)

  def targetOf[T](
      windows: TreeMap[TimeWindow, T],
      own: TimeWindow,
      inclusive: Boolean): MergeTarget[T] = {
    val met = meeting(windows, own, inclusive)
    var bounds = own
    met.foreach(window => bounds = bounds.cover(window.getKey))
    val isKnown = met.length == 1 && met.head.getKey == bounds
    MergeTarget(bounds, met.map(_.getValue), met.nonEmpty && !isKnown)
  }

  /** Those that `own` meets. `windows` do not meet each other. */
  private def meeting[T](
      windows: TreeMap[TimeWindow, T],
      own: TimeWindow,
      inclusive: Boolean): ArrayBuffer[Map.Entry[TimeWindow, T]] = {
    val met = ArrayBuffer.empty[Map.Entry[TimeWindow, T]]
    // No two meet, so of those that begin before, the last reaches furthest.
    var next = windows.lowerEntry(own)
    if (next == null || !Sessions.intersects(next.getKey, own, inclusive)) {
      next = windows.ceilingEntry(own)
    }
    while (next != null && next.getKey.start <= own.end) {
      if (Sessions.intersects(next.getKey, own, inclusive)) met += next
      next = windows.higherEntry(next.getKey)
    }
    met
  }
}
