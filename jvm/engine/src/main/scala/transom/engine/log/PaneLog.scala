package transom.engine.log

import scala.collection.AbstractIterator

import transom.engine.{Grid, TimeWindow}

/** The windows of one key group on a fixed grid: partial accumulators lie in panes as sorted runs
  * and are merged when a window fires. Nothing is read or written key by key.
  *
  * Times are microseconds, watermarks in Spark's sense: a window fires once the watermark has
  * reached its end (flink.md 3.2, a tick later than Flink counts).
  *
  * @param sharedBytes
  *   windows that overlap share their merges in memory while their panes take no more than this
  */
final class PaneLog[T](
    grid: Grid,
    panes: Panes,
    folding: Fold[T],
    sharedBytes: Long = PaneLog.SharedBytes) {

  private val blocks = new Blocks(grid, panes, folding)

  /** Takes a segment into a pane.
    *
    * @param judgedBy
    *   the watermark by which late rows were told apart: windows due by then are not fired for it
    */
  def append(start: Long, segment: Array[Byte], judgedBy: Long): Unit = {
    panes.firedUpTo = math.max(panes.firedUpTo, judgedBy)
    append(panes.open(start), segment)
    blocks.holding(start).foreach(append(_, segment))
  }

  private def append(pane: Pane, segment: Array[Byte]): Unit = {
    panes.append(pane, segment)
    val runs = panes.crowded(pane)
    if (runs.nonEmpty) panes.compact(pane, runs) { (cursors, writer) =>
      new FoldedRuns(cursors, folding).copyTo(writer)
    }
  }

  /** When the next window is due; `Long.MaxValue` if none is open. */
  def nextDue: Long = nextWindow().fold(Long.MaxValue)(grid.due)

  private def nextWindow(): Option[TimeWindow] =
    panes.first.flatMap(pane => Option(grid.firstWindow(pane.start, panes.firedUpTo)))

  /** Fires, in order, the windows due at `watermark`. The state follows as the results are taken.
    */
  def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
    private val stacks = new TwoStacks(panes, folding)
    private var window: TimeWindow = _
    private var sibling: TimeWindow = _
    private var keys: FoldedRuns[T] = _
    private var total: Option[(RunWriter, Seq[Pane])] = None
    private var ready = false
    open()

    override def hasNext: Boolean = {
      while (!ready && window != null) {
        if (keys.next()) {
          total.foreach { case (writer, _) => writer.append(keys.hash, keys.key, folding.folded) }
          ready = true
        } else {
          close()
          open()
        }
      }
      ready
    }

    override def next(): T = {
      if (!hasNext) throw new NoSuchElementException("no further result")
      ready = false
      folding.result(keys.key, grid.instantOf(window.start), grid.due(window))
    }

    private def open(): Unit = {
      window = Option(sibling).orElse(nextWindow().filter(isDue)).orNull
      if (window == null) panes.firedUpTo = math.max(panes.firedUpTo, watermark)
      else {
        val held = panes.between(window.start, window.end)
        val cursors =
          if (shares(held)) stacks.cursors(window)
          else if (blocks.serve(window, held)) blocks.cursors(window)
          else held.flatMap(panes.cursors)
        keys = new FoldedRuns(cursors, folding)
        total =
          if (!grid.isCumulative || held.map(_.runs.length).sum < 2 || isLastOf(window)) None
          else Some((panes.newRun(panes.open(window.start)), held))
      }
    }

    /** Drops what no later window needs; of cumulated panes their total stays, in the first of
      * them.
      */
    private def close(): Unit = {
      val due = grid.due(window)
      total.foreach { case (writer, held) =>
        val old = held.map(pane => (pane, pane.runs.toSeq))
        writer.close()
        old.foreach { case (pane, runs) => panes.removeRuns(pane, runs) }
      }
      // Windows whose ends the clock skips fall due together, and may share panes.
      val next = grid.nextWindow(window)
      sibling = Option(next).filter(grid.due(_) == due).orNull
      panes.removeBlocksBefore(if (next == null) Long.MaxValue else next.start)
      if (sibling == null) {
        panes.firedUpTo = math.max(panes.firedUpTo, due)
        while (panes.first.exists(pane => grid.lastDue(pane.start) <= due))
          panes.first.foreach(panes.remove)
      }
    }

    private def isLastOf(window: TimeWindow): Boolean =
      grid.lastDue(window.start) <= grid.due(window)

    /** Windows that fire in a row share their merges in memory, without blocks in the state. */
    private def shares(held: Seq[Pane]): Boolean =
      grid.isOverlapping && held.length > 2 &&
        (stacks.isStarted || isSecondNextDue(window)) &&
        held.iterator.map(_.bytes).sum <= sharedBytes

    private def isSecondNextDue(window: TimeWindow): Boolean =
      Option(grid.nextWindow(window)).flatMap(next => Option(grid.nextWindow(next))).exists(isDue)

    private def isDue(window: TimeWindow): Boolean = grid.due(window) <= watermark
  }
}

object PaneLog {
  val SharedBytes: Long = 32L << 20
}

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

  /** The runs whose merge is the window; windows must come in order. */
  def cursors(window: TimeWindow): Seq[Cursor] = {
    front = front.dropWhile(_._1 < window.start)
    val arrived = panes.between(math.max(pushedUntil, window.start), window.end)
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
