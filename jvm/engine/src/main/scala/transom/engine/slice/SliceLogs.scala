package transom.engine.slice

import transom.engine.runtime.{OpenStarts, SegmentLog}
import transom.engine.spec.WindowSpec
import transom.engine.state._
import transom.engine.window.Grid

/** Opens the slice logs of key groups. */
object SliceLogs {

  /** Returns the function that opens the log of a key group over a store for each grid. */
  def over[T](
      spec: WindowSpec,
      grids: Seq[Grid],
      merger: AccumulatorMerger[T],
      limits: Limits): IndexedSeq[SegmentStore] => SegmentLog[T] = {
    val fromCoarsest = grids.zipWithIndex.sortBy { case (grid, _) => -grid.unit }
    def logOf(grid: Grid, store: SegmentStore, coarser: Seq[SliceLog[T]]) = {
      // A slice log reads whole slices, so their segments are stored together.
      val buffered =
        new BufferedStore(new BundledStore(store, limits.bundle), limits.segments / grids.length)
      new SliceLog(
        grid,
        new SliceDirectory(buffered),
        merger,
        limits.shared,
        spec.firstOutputUs.getOrElse(Long.MinValue),
        coarser)
    }
    stores => {
      val logs = fromCoarsest.foldLeft(List.empty[(Int, SliceLog[T])]) {
        case (coarser, (grid, member)) =>
          (member, logOf(grid, stores(member), coarser.map(_._2))) :: coarser
      }
      if (logs.length == 1) logs.head._2 else new SeveralLogs(logs, merger)
    }
  }
}

/** The slice logs of several windows in one pass.
  *
  * A log with a source gets the accumulators of the source's windows when they fire. It gets a
  * segment directly only if the source does not take the segment any more.
  *
  * @param logs
  *   the number and the log of each member, sources first
  */
private[slice] final class SeveralLogs[T](
    logs: Seq[(Int, SliceLog[T])],
    merger: AccumulatorMerger[T])
    extends SegmentLog[T] {

  override def append(slice: Long, segment: Array[Byte], lateWatermark: Long): Unit =
    logs.foreach { case (_, log) =>
      val isFed = log.source != null && log.source.takes(slice, lateWatermark)
      if (!isFed && log.takes(slice, lateWatermark))
        log.append(log.grid.sliceAt(slice), segment, lateWatermark)
    }

  override def openStarts: Option[Option[OpenStarts]] = {
    val open = logs.flatMap { case (_, log) => startsOf(log) }
    Some(Option.when(open.nonEmpty)(OpenStarts(open.min, open.max)))
  }

  /** The first and the last start of an open window, also of windows whose rows are in the source
    * still.
    */
  private def startsOf(log: SliceLog[T]): Seq[Long] = {
    import log.grid
    val starts = log.openStarts.flatten.toSeq.flatMap(open => Seq(open.earliest, open.latest))
    if (log.source == null) starts
    else
      starts ++ startsOf(log.source).flatMap { start =>
        val slice = grid.sliceOf(start)
        Seq(grid.firstWindow(slice, Long.MinValue).start, grid.lastStartOf(slice))
          .map(grid.instantOf)
      }
  }

  override def nextTimer: Long = logs.map { case (_, log) => log.nextTimer }.min

  override def fire(watermark: Long): Iterator[T] = logs.iterator.flatMap { case (member, log) =>
    merger.startMember(member)
    log.fire(watermark).map(counted)
  }

  override def save(): Unit = logs.foreach { case (_, log) => log.save() }
}
