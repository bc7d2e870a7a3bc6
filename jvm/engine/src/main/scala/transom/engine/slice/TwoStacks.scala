package transom.engine.slice

import scala.collection.mutable

import transom.engine.state._
import transom.engine.window.TimeWindow

/** Merges sliding windows with the two-stacks algorithm, in memory.
  *
  * The front holds, for each of its slices, the merge from that slice to the end of the front.
  * The back holds one merge of all later slices. A window is the merge of the front's top and the
  * back. A result costs about three merges, however many slices the window has. The algorithm
  * needs no inverse of `merge`.
  *
  * Not thread-safe.
  *
  * @param slices
  *   the directory of the key group
  * @param merger
  *   merges accumulators
  */
private[slice] final class TwoStacks[T](slices: SliceDirectory, merger: AccumulatorMerger[T]) {
  private val writer = new SegmentWriter
  private var front: List[(Long, Seq[Array[Byte]])] = Nil
  private var back: Vector[Slice] = Vector.empty
  private var backSegments: Seq[Array[Byte]] = Nil
  private var pushedUntil = Long.MinValue

  /** Whether `cursors` has been called. */
  def isStarted: Boolean = pushedUntil != Long.MinValue

  /** Returns the runs to merge for a window. Call with windows in order of time.
    *
    * @param window
    *   the window that fires
    * @param inside
    *   the live slices of the window
    */
  def cursors(window: TimeWindow, inside: SlidingSlices): Seq[Cursor] = {
    front = front.dropWhile(_._1 < window.start)
    val arrived = inside.from(pushedUntil)
    pushedUntil = window.end
    if (front.isEmpty) {
      flip(back.filter(_.start >= window.start) ++ arrived)
    } else {
      arrived.foreach(slice => backSegments = merge(run(backSegments) +: slices.cursors(slice)))
      back ++= arrived
    }
    front.headOption.map(top => run(top._2)).toSeq :+ run(backSegments)
  }

  /** Rebuilds the front from all slices of the window, and empties the back. */
  private def flip(held: Vector[Slice]): Unit = {
    held.reverseIterator.foreach { slice =>
      val newer = front.headOption.map(top => run(top._2)).toSeq
      front = (slice.start, merge(slices.cursors(slice) ++ newer)) :: front
    }
    back = Vector.empty
    backSegments = Nil
  }

  private def run(segments: Seq[Array[Byte]]): Cursor = new Cursor(segments.iterator)

  private def merge(cursors: Seq[Cursor]): Seq[Array[Byte]] = {
    val segments = Vector.newBuilder[Array[Byte]]
    val keys = new MergedRuns(cursors, merger)
    while (keys.next()) {
      writer.append(keys.hash, keys.key, merger.accumulator)
      if (writer.isFull) segments += writer.take()
    }
    if (!writer.isEmpty) segments += writer.take()
    segments.result()
  }
}

/** Tracks the live slices of sliding windows and their total size.
  *
  * Windows must come in order. Each slice is read once when it enters a window and once when it
  * leaves, not in every window. Not thread-safe.
  *
  * @param slices
  *   the directory of the key group
  */
private[slice] final class SlidingSlices(slices: SliceDirectory) {
  private val held = mutable.Queue.empty[Slice]
  private var until = Long.MinValue
  private var sum = 0L

  /** Number of slices in the window. */
  def length: Int = held.length

  /** Total size of the slices in the window, in bytes. */
  def bytes: Long = sum

  /** The slices of the window that start at or after `start`, in order. */
  def from(start: Long): Seq[Slice] =
    held.reverseIterator.takeWhile(_.start >= start).toSeq.reverse

  /** Moves to a later window. */
  def moveTo(window: TimeWindow): Unit = {
    while (held.nonEmpty && held.front.start < window.start) sum -= held.dequeue().bytes
    slices.between(math.max(until, window.start), window.end).foreach { slice =>
      held += slice
      sum += slice.bytes
    }
    until = window.end
  }
}
