package transom.engine.slice

import transom.engine.runtime._
import transom.engine.spec.WindowSpec
import transom.engine.state._
import transom.engine.window.{Grid, GridSlices}

/** The window operator of a task over slice logs: windows on a grid that the watermark fires.
  *
  * @param merger
  *   merges accumulators and computes results; all key groups share it
  */
final class SliceTaskOperator[T](
    spec: WindowSpec,
    slices: GridSlices,
    merger: AccumulatorMerger[T],
    sideOutput: SideOutput[T],
    limits: Limits)
    extends TaskOperator[IndexedSeq[SegmentStore], T] {
  private val emissions = new Emissions[T]

  private val fromCoarsest = slices.grids.zipWithIndex.sortBy { case (grid, _) => -grid.unit }

  /** @param stores
    *   a store for each grid
    */
  override def open(
      group: Int,
      stores: IndexedSeq[SegmentStore],
      clock: Long): KeyGroupOperator[T] = {
    val logs = fromCoarsest.foldLeft(List.empty[(Int, SliceLog[T])]) {
      case (coarser, (grid, member)) =>
        (member, logOf(grid, stores(member), coarser.map(_._2))) :: coarser
    }
    val log = if (logs.length == 1) logs.head._2 else new SeveralLogs(logs, merger)
    val side = new SideRows(spec, sideOutput, clock)
    new LogGroupOperator(log, spec, slices, merger, side, emissions)
  }

  private def logOf(grid: Grid, store: SegmentStore, coarser: Seq[SliceLog[T]]): SliceLog[T] = {
    // A slice log reads whole slices, so their segments are stored together.
    val buffered = new BufferedStore(
      new BundledStore(store, limits.bundle),
      limits.segments / slices.grids.length)
    new SliceLog(
      grid,
      new SliceDirectory(buffered),
      merger,
      limits.shared,
      spec.firstOutputUs.getOrElse(Long.MinValue),
      coarser)
  }
}
