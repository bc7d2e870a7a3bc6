package transom.engine.log

import scala.collection.mutable

import transom.engine.TimeWindow

/** A sliding fold over panes that neither subtracts nor starts over (two stacks): the front
  * holds, for each of its panes, the fold from that pane to the end of the front, the back one
  * fold of all panes that came since. A window is the top of the front and the back: about three
  * merges a result, however many panes a window has.
  */
private[log] final class TwoStacks[T](panes: Panes, folding: Fold[T]) {
  private val writer = new SegmentWriter
  private var front: List[(Long, Seq[Array[Byte]])] = Nil
  private var back: Vector[Pane] = Vector.empty
  private var backFold: Seq[Array[Byte]] = Nil
  private var pushedUntil = Long.MinValue

  def isStarted: Boolean = pushedUntil != Long.MinValue

  /** The runs whose merge is the window, which has these panes; windows must come in order. */
  def cursors(window: TimeWindow, inside: SlidingPanes): Seq[Cursor] = {
    front = front.dropWhile(_._1 < window.start)
    val arrived = inside.from(pushedUntil)
    pushedUntil = window.end
    if (front.isEmpty) {
      flip(back.filter(_.start >= window.start) ++ arrived)
    } else {
      arrived.foreach(pane => backFold = merge(run(backFold) +: panes.cursors(pane)))
      back ++= arrived
    }
    front.headOption.map(top => run(top._2)).toSeq :+ run(backFold)
  }

  private def flip(held: Vector[Pane]): Unit = {
    held.reverseIterator.foreach { pane =>
      val newer = front.headOption.map(top => run(top._2)).toSeq
      front = (pane.start, merge(panes.cursors(pane) ++ newer)) :: front
    }
    back = Vector.empty
    backFold = Nil
  }

  private def run(segments: Seq[Array[Byte]]): Cursor = new Cursor(segments.iterator)

  private def merge(cursors: Seq[Cursor]): Seq[Array[Byte]] = {
    val segments = Vector.newBuilder[Array[Byte]]
    val keys = new FoldedRuns(cursors, folding)
    while (keys.next()) {
      writer.append(keys.hash, keys.key, folding.folded)
      if (writer.isFull) segments += writer.take()
    }
    if (!writer.isEmpty) segments += writer.take()
    segments.result()
  }
}

/** How much the panes of a window hold, for windows that come in order: each pane is looked at
  * when it comes and when it goes, not in each window between.
  */
private[log] final class SlidingPanes(panes: Panes) {
  private val held = mutable.Queue.empty[Pane]
  private var until = Long.MinValue
  private var sum = 0L

  def length: Int = held.length

  def bytes: Long = sum

  /** Those that start at or after an instant, in order. */
  def from(start: Long): Seq[Pane] =
    held.reverseIterator.takeWhile(_.start >= start).toSeq.reverse

  def moveTo(window: TimeWindow): Unit = {
    while (held.nonEmpty && held.front.start < window.start) sum -= held.dequeue().bytes
    panes.between(math.max(until, window.start), window.end).foreach { pane =>
      held += pane
      sum += pane.bytes
    }
    until = window.end
  }
}
