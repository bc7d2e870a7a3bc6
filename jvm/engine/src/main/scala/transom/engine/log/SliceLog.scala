package transom.engine.log

import scala.collection.AbstractIterator

import transom.engine.{Grid, TimeWindow}

/** The windows of one key group on a fixed grid: partial accumulators lie in slices as sorted
  * runs and are merged when a window fires. Nothing is read or written key by key.
  *
  * Times are microseconds, watermarks in Spark's sense: a window fires once the watermark has
  * reached its end (flink.md 3.2, a tick later than Flink counts).
  *
  * @param sharedBytes
  *   windows that overlap share their merges in memory while their slices take no more than this
  */
final class SliceLog[T](
    grid: Grid,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T],
    sharedBytes: Long = SliceLog.SharedBytes) {

  private val blocks = new Blocks(grid, slices, merger)

  /** Takes a segment into a slice.
    *
    * @param lateWatermark
    *   the watermark by which late rows were told apart: windows due by then are not fired for it
    */
  def append(start: Long, segment: Array[Byte], lateWatermark: Long): Unit = {
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    append(slices.open(start), segment)
    blocks.holding(start).foreach(append(_, segment))
  }

  private def append(slice: Slice, segment: Array[Byte]): Unit = {
    slices.append(slice, segment)
    val runs = slices.crowded(slice)
    if (runs.nonEmpty) slices.compact(slice, runs) { (cursors, writer) =>
      new MergedRuns(cursors, merger).copyTo(writer)
    }
  }

  /** When the next window is due; `Long.MaxValue` if none is open. */
  def nextTimer: Long = nextWindow().fold(Long.MaxValue)(grid.endOf)

  private def nextWindow(): Option[TimeWindow] =
    slices.first.flatMap(slice => Option(grid.firstWindow(slice.start, slices.firedUpTo)))

  /** Fires, in order, the windows due at `watermark`. The state follows as the results are taken.
    */
  def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
    private val stacks = new TwoStacks(slices, merger)
    private val inside = new SlidingSlices(slices)
    private var window: TimeWindow = _
    private var sibling: TimeWindow = _
    private var keys: MergedRuns[T] = _
    private var total: Option[(RunWriter, Seq[Slice])] = None
    private var ready = false
    open()

    override def hasNext: Boolean = {
      while (!ready && window != null) {
        if (keys.next()) {
          total.foreach { case (writer, _) =>
            writer.append(keys.hash, keys.key, merger.accumulator)
          }
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
      merger.result(keys.key, grid.instantOf(window.start), grid.endOf(window))
    }

    private def open(): Unit = {
      window = Option(sibling).orElse(nextWindow().filter(hasEnded)).orNull
      if (window == null) slices.firedUpTo = math.max(slices.firedUpTo, watermark)
      else {
        keys = new MergedRuns(cursors, merger)
        total = if (grid.isCumulative && !isLastOf(window)) totalOf(held) else None
      }
    }

    private def held: Seq[Slice] = slices.between(window.start, window.end)

    private def cursors: Seq[Cursor] =
      if (!grid.isOverlapping) held.flatMap(slices.cursors)
      else {
        inside.moveTo(window)
        if (shares) stacks.cursors(window, inside)
        else if (blocks.serve(window, inside.length)) blocks.cursors(window)
        else held.flatMap(slices.cursors)
      }

    private def totalOf(held: Seq[Slice]): Option[(RunWriter, Seq[Slice])] =
      if (held.map(_.runs.length).sum < 2) None
      else Some((slices.newRun(slices.open(window.start)), held))

    /** Drops what no later window needs; of cumulated slices their total stays, in the first of
      * them.
      */
    private def close(): Unit = {
      val end = grid.endOf(window)
      total.foreach { case (writer, held) =>
        val old = held.map(slice => (slice, slice.runs.toSeq))
        writer.close()
        old.foreach { case (slice, runs) => slices.removeRuns(slice, runs) }
      }
      // Windows whose ends the clock skips fall due together, and may share slices.
      val next = grid.nextWindow(window)
      sibling = Option(next).filter(grid.endOf(_) == end).orNull
      slices.removeBlocksBefore(if (next == null) Long.MaxValue else next.start)
      if (sibling == null) {
        slices.firedUpTo = math.max(slices.firedUpTo, end)
        while (slices.first.exists(slice => grid.lastEndOf(slice.start) <= end))
          slices.first.foreach(slices.remove)
      }
    }

    private def isLastOf(window: TimeWindow): Boolean =
      grid.lastEndOf(window.start) <= grid.endOf(window)

    /** Windows that fire in a row share their merges in memory, without blocks in the state. */
    private def shares: Boolean =
      inside.length > 2 && inside.bytes <= sharedBytes &&
        (stacks.isStarted || hasSecondNextEnded(window))

    private def hasSecondNextEnded(window: TimeWindow): Boolean =
      Option(grid.nextWindow(window))
        .flatMap(next => Option(grid.nextWindow(next)))
        .exists(hasEnded)

    private def hasEnded(window: TimeWindow): Boolean = grid.endOf(window) <= watermark
  }
}

object SliceLog {
  final val SharedBytes = 32L << 20
}
