package transom.engine.session

import transom.engine.runtime._
import transom.engine.spec.WindowSpec
import transom.engine.state._
import transom.engine.window.SessionSlices

/** The window operator of a task over session logs: sessions that the watermark closes.
  *
  * @param merger
  *   merges accumulators and computes results; all key groups share it
  */
final class SessionTaskOperator[T](
    spec: WindowSpec,
    slices: SessionSlices,
    merger: AccumulatorMerger[T],
    sideOutput: SideOutput[T],
    limits: Limits)
    extends TaskOperator[IndexedSeq[SegmentStore], T] {
  private val emissions = new Emissions[T]

  /** @param stores
    *   one store
    */
  override def open(
      group: Int,
      stores: IndexedSeq[SegmentStore],
      clock: Long): KeyGroupOperator[T] = {
    // A session log looks up single segments, so each one is stored by itself.
    val directory = new SliceDirectory(new BufferedStore(stores.head, limits.segments))
    val log = new SessionLog(slices.gap, slices.inclusive, directory, merger, limits.sessions)
    val side = new SideRows(spec, sideOutput, clock)
    new LogGroupOperator(log, spec, slices, merger, side, emissions)
  }
}
