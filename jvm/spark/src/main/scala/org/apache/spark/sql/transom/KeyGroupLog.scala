package org.apache.spark.sql.transom

import transom.engine.session.{LateRow, SessionLog}
import transom.engine.slice.SliceLog
import transom.engine.state.{BufferedStore, BundledStore, SliceDirectory, Store}
import transom.engine.time.Watermark

/** The slice log or session log of one key group, over its state store.
  *
  * One instance serves one batch. Exhaust the iterator of `fire` before calling `save`.
  */
final class KeyGroupLog(
    operatorPlan: WindowOperatorPlan,
    aggregation: FinalAggregation,
    store: Store) {
  private val shift = operatorPlan.watermarkShift

  // A slice log reads whole slices, so its segments are stored in bundles. A session log looks up
  // single segments.
  private val buffered = new BufferedStore(operatorPlan.windows match {
    case _: GridWindows => new BundledStore(store)
    case _: SessionWindows => store
  })

  val slices = new SliceDirectory(buffered)

  private val log: Either[SliceLog[WindowResultRow], SessionLog[WindowResultRow]] =
    operatorPlan.windows match {
      case GridWindows(grid) => Left(new SliceLog(grid, slices, aggregation))
      case SessionWindows(gap, inclusive) =>
        Right(new SessionLog(gap, inclusive, slices, aggregation))
    }

  /** Appends a segment batch.
    *
    * @param lateWatermark
    *   late watermark of the rows, microseconds, less `operatorPlan.watermarkShift`
    */
  def append(batch: Array[Byte], lateWatermark: Long): Unit =
    SegmentBatch.read(batch).foreach { case (slice, segment) =>
      log.fold(_.append(slice, segment, lateWatermark), _.append(segment, lateWatermark))
    }

  /** Lets late rows join open sessions, and returns the rows that joined none. Windows of a grid
    * take no late row.
    */
  def join(late: Seq[LateRow], lateWatermark: Long): Seq[LateRow] =
    log.fold(_ => late, _.join(late, lateWatermark))

  /** The event watermark of the next timer, microseconds, or `Long.MaxValue` if there is none. */
  def nextTimer: Long = {
    val timer = log.fold(_.nextTimer, _.nextTimer)
    if (timer == Long.MaxValue) timer else timer + shift
  }

  /** Fires all windows up to an event watermark in microseconds. The iterator reuses its rows. */
  def fire(watermark: Long): Iterator[WindowResultRow] = {
    val reached = Watermark.minus(watermark, shift)
    aggregation.moveTo(watermark)
    log.fold(_.fire(reached), _.fire(reached))
  }

  /** Writes all changes to the store. Before this call only data that exceeds the memory limit is
    * written.
    */
  def save(): Unit = {
    buffered.flush()
    slices.save()
  }
}
