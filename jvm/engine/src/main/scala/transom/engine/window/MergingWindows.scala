package transom.engine.window

import java.util.{Map, NavigableMap}

import scala.collection.mutable.ArrayBuffer

/** Finds the windows of a key that a new window must be merged with. */
object MergingWindows {

  /** The window that contains a new window after merging.
    *
    * @param bounds
    *   bounds of the merged window
    * @param sources
    *   existing windows that the new window meets, in order of time
    * @param isMerge
    *   whether there are `sources` and none of them has these `bounds`, so that a merge is needed
    */
  final class MergeTarget[T](
      val bounds: TimeWindow,
      val sources: collection.Seq[T],
      val isMerge: Boolean)

  /** Finds the merge target of the new window `own`. Does not change `windows`. No two of
    * `windows` may meet.
    *
    * @param inclusive
    *   whether windows that only touch are merged too
    */
  def targetOf[T](
      windows: NavigableMap[TimeWindow, T],
      own: TimeWindow,
      inclusive: Boolean): MergeTarget[T] = {
    val met = meeting(windows, own, inclusive)
    var bounds = own
    met.foreach(window => bounds = bounds.union(window.getKey))
    val isKnown = met.length == 1 && met.head.getKey == bounds
    new MergeTarget(bounds, met.map(_.getValue), met.nonEmpty && !isKnown)
  }

  /** The entries of `windows` that `own` meets. No two of `windows` meet. */
  private def meeting[T](
      windows: NavigableMap[TimeWindow, T],
      own: TimeWindow,
      inclusive: Boolean): ArrayBuffer[Map.Entry[TimeWindow, T]] = {
    val met = ArrayBuffer.empty[Map.Entry[TimeWindow, T]]
    // Windows do not meet, so the last one that starts before `own` also ends last.
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
