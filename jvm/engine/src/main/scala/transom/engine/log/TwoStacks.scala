package transom.engine.log

import scala.collection.mutable

import transom.engine.TimeWindow

/** A sliding fold over slices that neither subtracts nor starts over (two stacks): the front
  * holds, for each of its slices, the fold from that slice to the end of the front, the back one
  * fold of all slices that came since. A window is the top of the front and the back: about three
  * merges a result, however many slices a window has.
  */
private[log] final class TwoStacks[T](slices: SliceDirectory, merger: AccumulatorMerger[T]) {
  private val writer = new SegmentWriter
  private var front: List[(Long, Seq[Array[Byte]])] = Nil
  private var back: Vector[Slice] = Vector.empty
  private var backSegments: Seq[Array[Byte]] = Nil
  private var pushedUntil = Long.MinValue

  def isStarted: Boolean = pushedUntil != Long.MinValue

  /** The runs whose merge is the window, which has these slices; windows must come in order. */
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

/** How much the slices of a window hold, for windows that come in order: each slice is looked at
  * when it comes and when it goes, not in each window between.
  */
private[log] final class SlidingSlices(slices: SliceDirectory) {
  private val held = mutable.Queue.empty[Slice]
  private var until = Long.MinValue
  private var sum = 0L

  def length: Int = held.length

  def bytes: Long = sum

  /** Those that start at or after an instant, in order. */
  def from(start: Long): Seq[Slice] =
    held.reverseIterator.takeWhile(_.start >= start).toSeq.reverse

  def moveTo(window: TimeWindow): Unit = {
    while (held.nonEmpty && held.front.start < window.start) sum -= held.dequeue().bytes
    slices.between(math.max(until, window.start), window.end).foreach { slice =>
      held += slice
      sum += slice.bytes
    }
    until = window.end
  }
}
