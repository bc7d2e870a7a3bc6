package transom.engine.slice

import scala.collection.AbstractIterator

import transom.engine.runtime.{OpenStarts, SegmentLog}
import transom.engine.state._
import transom.engine.window.{Grid, TimeWindow}

/** Stores and fires the grid windows of one key group.
  *
  * Partial aggregates lie in slices as sorted runs. Firing a window merges the runs of its
  * slices, without point lookups of keys.
  *
  * Times and watermarks are microseconds since 1970. A window fires once the watermark has
  * reached its end, one time unit later than in Flink (flink.md 3.2).
  *
  * Not thread-safe. Exhaust the iterator that `fire` returns before calling another method: the
  * iterator shares the merger and changes the state as it advances.
  *
  * @param grid
  *   defines the slices and the windows
  * @param slices
  *   the directory of the key group
  * @param merger
  *   merges accumulators and computes results
  * @param sharedBytes
  *   largest size of a window's slices, in bytes, at which overlapping windows that fire together
  *   share their merges in memory
  * @param firstOutput
  *   windows that end before this instant emit no results
  * @param coarser
  *   logs of coarser grids. Those that this log can feed, and that have no source, get this log
  *   as their source
  */
final class SliceLog[T](
    val grid: Grid,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T],
    sharedBytes: Long,
    firstOutput: Long = Long.MinValue,
    coarser: Seq[SliceLog[T]] = Nil)
    extends SegmentLog[T] {

  /** The log of a finer grid that appends the accumulators of each window that fires; null if
    * there is none. Only the constructor of this log sets it.
    */
  var source: SliceLog[T] = _

  private val fed = coarser.filter(log => log.source == null && log.grid.isFedBy(grid))
  fed.foreach(_.source = this)

  private val blocks = new Blocks(grid, slices, merger)

  /** Adds a segment to a slice.
    *
    * @param start
    *   start of the slice, in grid time
    * @param segment
    *   the sorted accumulators
    * @param lateWatermark
    *   the late watermark of the batch: windows that end by it do not fire for this segment
    */
  override def append(start: Long, segment: Array[Byte], lateWatermark: Long): Unit = {
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    append(slices.open(start), segment)
    blocks.holding(start).foreach(append(_, segment))
  }

  /** Whether a window that contains a time has not fired at a watermark. */
  def takes(gridTime: Long, lateWatermark: Long): Boolean = {
    val slice = grid.sliceAt(gridTime)
    slice != Grid.NoSlice && grid.lastEndOf(slice) > lateWatermark
  }

  private def append(slice: Slice, segment: Array[Byte]): Unit = {
    slices.append(slice, segment)
    val runs = slices.crowded(slice)
    if (runs.nonEmpty) slices.compact(slice, runs) { (cursors, writer) =>
      new MergedRuns(cursors, merger).copyTo(writer)
    }
  }

  /** The watermark at which the next window fires; `Long.MaxValue` if no window is open. */
  override def nextTimer: Long = nextWindow().fold(Long.MaxValue)(grid.endOf)

  override def openStarts: Option[Option[OpenStarts]] = Some(for {
    window <- nextWindow()
    last <- slices.last
  } yield OpenStarts(grid.instantOf(window.start), grid.instantOf(grid.lastStartOf(last.start))))

  override def save(): Unit = slices.save()

  private def nextWindow(): Option[TimeWindow] =
    slices.first.flatMap(slice => Option(grid.firstWindow(slice.start, slices.firedUpTo)))

  /** Fires the windows that end by `watermark`, in order of their ends. The iterator changes the
    * state as it advances, so the caller must exhaust it.
    */
  override def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
    private val stacks = new TwoStacks(slices, merger)
    private val inside = new SlidingSlices(slices)
    private var window: TimeWindow = _

    /** The next window, if it ends at the same instant as `window`; else null. */
    private var sibling: TimeWindow = _
    private var keys: MergedRuns[T] = _

    /** The writer of the merged total of cumulative slices, and the slices that the total
      * replaces.
      */
    private var total: Option[(RunWriter, Seq[Slice])] = None
    private var ready = false

    /** The accumulators for the logs that are fed; null if there are none. */
    private val feed = if (fed.isEmpty) null else new SegmentWriter
    open()

    override def hasNext: Boolean = {
      while (!ready && window != null) {
        // Appending may use the merger, so the last result must have been taken.
        if (feed != null && feed.isFull) feedCoarser()
        if (keys.next()) {
          total.foreach { case (writer, _) =>
            writer.append(keys.hash, keys.key, merger.accumulator)
          }
          if (feed != null) feed.append(keys.hash, keys.key, merger.accumulator)
          ready = emits(window)
        } else {
          if (feed != null && !feed.isEmpty) feedCoarser()
          close()
          open()
        }
      }
      ready
    }

    override def next(): T = {
      if (!hasNext) throw new NoSuchElementException("no further result")
      ready = false
      counted(merger.result(keys.key, grid.instantOf(window.start), grid.endOf(window)))
    }

    private def feedCoarser(): Unit = {
      val segment = feed.take()
      fed.foreach(log => log.append(log.grid.sliceAt(window.start), segment, Long.MinValue))
    }

    private def open(): Unit = {
      window = Option(sibling).orElse(nextWindow().filter(hasEnded)).orNull
      if (window == null) slices.firedUpTo = math.max(slices.firedUpTo, watermark)
      else {
        keys = new MergedRuns(if (feed != null || emits(window)) cursors else Nil, merger)
        total =
          if (grid.isCumulative && !isLastOf(window) && emits(window)) totalOf(held) else None
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

    /** Removes the slices and blocks that no later window needs. For cumulative windows, the
      * merged total replaces the runs of the slices and is stored in the first slice.
      */
    private def close(): Unit = {
      val end = grid.endOf(window)
      total.foreach { case (writer, held) =>
        val old = held.map(slice => (slice, slice.runs.toSeq))
        writer.close()
        old.foreach { case (slice, runs) => slices.removeRuns(slice, runs) }
      }
      // When clocks go forward, windows whose ends are skipped end at the same instant. They may
      // share slices, so all of them must fire before a slice is removed.
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

    /** Whether to merge with the in-memory stacks: several windows fire in this batch and their
      * slices are small. Then no blocks are written to the state.
      */
    private def shares: Boolean =
      inside.length > 2 && inside.bytes <= sharedBytes &&
        (stacks.isStarted || hasSecondNextEnded(window))

    private def hasSecondNextEnded(window: TimeWindow): Boolean =
      Option(grid.nextWindow(window))
        .flatMap(next => Option(grid.nextWindow(next)))
        .exists(hasEnded)

    private def emits(window: TimeWindow): Boolean = grid.endOf(window) >= firstOutput

    private def hasEnded(window: TimeWindow): Boolean = grid.endOf(window) <= watermark
  }
}
