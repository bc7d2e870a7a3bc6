package transom.engine.log

import transom.engine.{Grid, TimeWindow}

/** Folds of slices in a row that stay in the state between firings. A block of level n takes the
  * 4^n slices from where such blocks begin, so a window of many slices is merged from a few
  * blocks and slices, and those that overlap it use them again.
  *
  * Only windows that have fired build blocks. What comes later for a slice, late for those but
  * not for all of its windows, goes into its blocks as well. Four slices a block rather than two:
  * about as many merges, and a third of the writing.
  */
private[log] final class Blocks[T](
    grid: Grid,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T]) {

  /** Whether a window is worth it: most of it is also in the next ones, and it holds many slices.
    */
  def serve(window: TimeWindow, held: Int): Boolean = {
    val next = grid.nextWindow(window)
    next != null && held >= Blocks.LeastSlices &&
    (window.end - window.start) / (next.start - window.start) >= Blocks.LeastOverlap
  }

  /** The runs whose merge is the window; builds the blocks that also the next window holds. */
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

  /** The blocks that a slice is in. */
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

  /** What holds just the rows of a block's slices. */
  private def cover(start: Long, level: Int, width: Long, next: Long): Seq[Slice] =
    if (level == 0) slices.get(start).toSeq
    else
      slices.block(start, level).map(Seq(_)).getOrElse {
        val held = slices.between(start, start + extent(level, width))
        if (held.length < 2) held
        else if (start >= next) Seq(build(start, level, width))
        else children(start, level, width).flatMap(cover(_, level - 1, width, next))
      }

  private def build(start: Long, level: Int, width: Long): Slice = {
    val sources = existingParts(start, level, width)
    val block = slices.openBlock(start, level)
    val writer = slices.newRun(block)
    new MergedRuns(sources.flatMap(slices.cursors), merger).copyTo(writer)
    writer.close()
    block
  }

  /** The largest parts of a block that are there already. */
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

  private def extent(level: Int, width: Long): Long = width << (2 * level)

  private def isAligned(start: Long, level: Int, width: Long): Boolean =
    level <= Blocks.HighestLevel && (Math.floorDiv(
      start,
      width) & ((1L << (2 * level)) - 1)) == 0L

  // Slices of windows that overlap are all of one width.
  private def widthAt(slice: Long): Long = grid.sliceEnd(slice) - slice
}

private object Blocks {
  final val Fanout = 4
  final val LeastSlices = 8
  final val LeastOverlap = 4L
  final val HighestLevel = 12
}
