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
    private val inside = new SlidingPanes(panes)
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
        keys = new FoldedRuns(cursors, folding)
        total = if (grid.isCumulative && !isLastOf(window)) totalOf(held) else None
      }
    }

    private def held: Seq[Pane] = panes.between(window.start, window.end)

    private def cursors: Seq[Cursor] =
      if (!grid.isOverlapping) held.flatMap(panes.cursors)
      else {
        inside.moveTo(window)
        if (shares) stacks.cursors(window, inside)
        else if (blocks.serve(window, inside.length)) blocks.cursors(window)
        else held.flatMap(panes.cursors)
      }

    private def totalOf(held: Seq[Pane]): Option[(RunWriter, Seq[Pane])] =
      if (held.map(_.runs.length).sum < 2) None
      else Some((panes.newRun(panes.open(window.start)), held))

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
    private def shares: Boolean =
      inside.length > 2 && inside.bytes <= sharedBytes &&
        (stacks.isStarted || isSecondNextDue(window))

    private def isSecondNextDue(window: TimeWindow): Boolean =
      Option(grid.nextWindow(window)).flatMap(next => Option(grid.nextWindow(next))).exists(isDue)

    private def isDue(window: TimeWindow): Boolean = grid.due(window) <= watermark
  }
}

object PaneLog {
  final val SharedBytes = 32L << 20
}
