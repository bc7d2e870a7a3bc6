package transom.engine.slice

import transom.engine.state.{AccumulatorMerger, Cursor, MergedRuns, Slice, SliceDirectory}
import transom.engine.window.{Grid, TimeWindow}

/** Partial aggregates of several adjacent slices, stored in the state for overlapping windows.
  *
  * A block of level n covers 4^n slices and starts at a slice whose number is a multiple of 4^n.
  * A window of many slices is merged from a few blocks and slices. Overlapping windows reuse the
  * blocks.
  *
  * Only firing windows build blocks. A late segment can still belong to open windows, so it is
  * also added to the blocks that cover its slice. A fanout of four needs about as many merges as
  * a fanout of two, but only a third of the writes.
  *
  * Not thread-safe. Uses the merger that it shares with [[SliceLog]].
  */
private[slice] final class Blocks[T](
    grid: Grid,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T]) {

  /** Whether blocks pay off for a window: it has many slices and overlaps the next window enough.
    *
    * @param window
    *   the window that fires
    * @param held
    *   number of live slices in the window
    */
  def serve(window: TimeWindow, held: Int): Boolean = {
    val next = grid.nextWindow(window)
    next != null && held >= Blocks.LeastSlices &&
    (window.end - window.start) / (next.start - window.start) >= Blocks.LeastOverlap
  }

  /** Returns the runs to merge for a window. Builds missing blocks that the next window can use
    * too.
    */
  def cursors(window: TimeWindow): Seq[Cursor] = {
    val width = widthAt(window.start)
    val next = grid.nextWindow(window).start
    val parts = Vector.newBuilder[Slice]
    var at = window.start
    while (at < window.end) {
      var level = 0
      while (isAligned(at, level + 1, width) && at + extent(level + 1, width) <= window.end)
        level += 1
      parts ++= cover(at, level, width, next)
      at += extent(level, width)
    }
    parts.result().flatMap(slices.cursors)
  }

  /** The existing blocks that cover a slice. */
  def holding(slice: Long): Seq[Slice] = {
    val highest = slices.highestLevel
    if (highest == 0) Nil
    else {
      val width = widthAt(slice)
      (1 to highest).flatMap { level =>
        val number = Math.floorDiv(slice, width)
        val first = number & -(1L << (2 * level))
        slices.block(slice - (number - first) * width, level)
      }
    }
  }

  /** The blocks and slices that together hold exactly the rows of one block's extent. Builds the
    * block if the next window covers it too.
    */
  private def cover(start: Long, level: Int, width: Long, next: Long): Seq[Slice] =
    if (level == 0) slices.get(start).toSeq
    else
      slices.block(start, level).map(Seq(_)).getOrElse {
        val held = slices.between(start, start + extent(level, width))
        if (held.length < 2) held
        else if (start >= next) Seq(build(start, level, width))
        else children(start, level, width).flatMap(cover(_, level - 1, width, next))
      }

  /** Builds a block from existing smaller blocks and from slices. */
  private def build(start: Long, level: Int, width: Long): Slice = {
    val sources = existingParts(start, level, width)
    val block = slices.openBlock(start, level)
    val writer = slices.newRun(block)
    new MergedRuns(sources.flatMap(slices.cursors), merger).copyTo(writer)
    writer.close()
    block
  }

  /** The largest existing blocks, and the slices, that together cover a block. */
  private def existingParts(start: Long, level: Int, width: Long): Seq[Slice] =
    if (level == 0) slices.get(start).toSeq
    else
      children(start, level, width).flatMap { child =>
        slices.block(child, level - 1) match {
          case Some(block) => Seq(block)
          case None if slices.between(child, child + extent(level - 1, width)).isEmpty => Nil
          case None => existingParts(child, level - 1, width)
        }
      }

  private def children(start: Long, level: Int, width: Long): Seq[Long] =
    (0 until Blocks.Fanout).map(start + _ * extent(level - 1, width))

  /** The length of a block, in microseconds of grid time. */
  private def extent(level: Int, width: Long): Long = width << (2 * level)

  private def isAligned(start: Long, level: Int, width: Long): Boolean =
    level <= Blocks.HighestLevel && (Math.floorDiv(
      start,
      width) & ((1L << (2 * level)) - 1)) == 0L

  // In a grid with overlapping windows, all slices have the same width.
  private def widthAt(slice: Long): Long = grid.sliceEnd(slice) - slice
}

/** Tuning constants of [[Blocks]]. */
private object Blocks {
  final val Fanout = 4
  final val LeastSlices = 8
  final val LeastOverlap = 4L
  final val HighestLevel = 12
}
