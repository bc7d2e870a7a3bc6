package org.apache.spark.sql.transom

import transom.engine.Watermark
import transom.engine.log._

/** The windows of one key group, in whichever log its assigner needs, over a store. */
final class KeyGroupLog(
    operatorPlan: WindowOperatorPlan,
    aggregation: FinalAggregation,
    store: Store) {
  private val shift = operatorPlan.watermarkShift

  // Sessions are looked up segment by segment, windows are read whole.
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

  /** Adds a batch of segments. */
  def append(batch: Array[Byte], lateWatermark: Long): Unit =
    SegmentBatch.read(batch).foreach { case (slice, segment) =>
      log.fold(_.append(slice, segment, lateWatermark), _.append(segment, lateWatermark))
    }

  /** Rows that are late by themselves; answers those that no open session took. */
  def join(late: Seq[LateRow], lateWatermark: Long): Seq[LateRow] =
    log.fold(_ => late, _.join(late, lateWatermark))

  /** The watermark at which something is due. */
  def nextTimer: Long = {
    val timer = log.fold(_.nextTimer, _.nextTimer)
    if (timer == Long.MaxValue) timer else timer + shift
  }

  def fire(watermark: Long): Iterator[WindowResultRow] = {
    val reached = Watermark.minus(watermark, shift)
    aggregation.moveTo(watermark)
    log.fold(_.fire(reached), _.fire(reached))
  }

  /** Writes what has changed; but for what was too much to hold, nothing reaches the store
    * before.
    */
  def save(): Unit = {
    buffered.flush()
    slices.save()
  }
}
