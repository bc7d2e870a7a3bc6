package transom.engine.slice

import transom.engine.operator._
import transom.engine.spec.WindowSpec
import transom.engine.state._
import transom.engine.window.TimeConvention

/** The window operator of a task over slice logs: windows on a grid that the watermark fires.
  *
  * @param merger
  *   merges accumulators and computes results; all key groups share it
  */
final class SliceLogOperator[T](
    spec: WindowSpec,
    slices: GridSlices,
    merger: AccumulatorMerger[T],
    sideOutput: SideOutput[T],
    limits: Limits)
    extends WindowOperator[Store, T] {
  private val convention = TimeConvention.of(spec.window)
  private val emissions = new Emissions[T]

  override def open(group: Int, store: Store, clock: Long): KeyGroupOperator[T] = {
    // A slice log reads whole slices, so their segments are stored together.
    val directory = new SliceDirectory(
      new BufferedStore(new BundledStore(store, limits.bundle), limits.segments))
    val log = new SliceLog(
      slices.grid,
      directory,
      merger,
      limits.shared,
      spec.firstOutputUs.getOrElse(Long.MinValue))
    val side = new SideRows(sideOutput, convention, clock)
    new LogOperator(log, spec, slices, merger, side, emissions)
  }
}
