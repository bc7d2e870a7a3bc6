package org.apache.spark.sql.transom

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.streaming._

import transom.engine.session.LateRow
import transom.engine.spec.LateRows
import transom.engine.time.Watermark

/** Stateful processor of a stream whose state is a slice log. One instance serves the key groups
  * of a partition for one batch.
  *
  * A key group with input fires its due windows together with its rows. A key group without input
  * is called by its timer, which is set to the watermark at which the next window is due.
  */
final class SliceLogProcessor(operatorPlan: WindowOperatorPlan)
    extends StatefulProcessor[Int, InternalRow, InternalRow] {
  @transient private lazy val aggregation = new FinalAggregation(operatorPlan)
  @transient private lazy val sideOutputs = new SideOutputRows(operatorPlan)
  @transient private lazy val row = new UnsafeRow(operatorPlan.row.length)
  @transient private var store: StateStoreSegments = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    store = new StateStoreSegments(
      getHandle.getValueState("directory", Encoders.BINARY, TTLConfig.NONE),
      getHandle.getMapState("segments", Encoders.BINARY, Encoders.BINARY, TTLConfig.NONE))

  override def handleInputRows(
      group: Int,
      rows: Iterator[InternalRow],
      timerValues: TimerValues): Iterator[InternalRow] = {
    lazy val log = new KeyGroupLog(operatorPlan, aggregation, store)
    val nowMs = timerValues.getCurrentProcessingTimeInMs()
    var hasRows = false
    var lateWatermark = Watermark.NotYet
    val late = ArrayBuffer.empty[Array[Byte]]
    val dead = ArrayBuffer.empty[InternalRow]
    val counts = new RowCounts
    var isCounted = false
    rows.foreach { row =>
      val payload = row.getBinary(ExchangeFormat.Payload)
      row.getInt(ExchangeFormat.Kind) match {
        case ExchangeFormat.Segments =>
          hasRows = true
          log.append(payload, row.getLong(ExchangeFormat.LateWatermark))
        case ExchangeFormat.Late =>
          lateWatermark = row.getLong(ExchangeFormat.LateWatermark)
          late += payload
        case ExchangeFormat.DeadLetter => dead += row.copy()
        case _ =>
          isCounted = true
          counts.add(payload)
      }
    }
    var sideOutputRows = dead.iterator.map(sideOutputs.deadLetter(_, nowMs))
    if (late.nonEmpty) {
      hasRows = true
      val missed = log.join(late.map(LateRecord.read).toSeq, lateWatermark)
      isCounted = true
      counts.late += missed.count(!LateRecord.isPartly(_))
      if (operatorPlan.lateRows != LateRows.No) {
        sideOutputRows ++= missed.iterator.map(emitLate(_, lateWatermark, nowMs))
      }
    }
    val output =
      if (hasRows) sideOutputRows ++ fire(log, timerValues.getCurrentWatermarkInMs())
      else sideOutputRows
    Iterator.single(new KeyGroupOutput(if (isCounted) counts.row else null, output))
  }

  private def emitLate(late: LateRow, lateWatermark: Long, nowMs: Long): InternalRow =
    sideOutputs.late(
      LateRecord.row(late, row),
      late.time,
      lateWatermark,
      operatorPlan.windows.missed(late.time, lateWatermark),
      LateRecord.isPartly(late),
      nowMs)

  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expiredTimer: ExpiredTimerInfo): Iterator[InternalRow] = {
    val log = new KeyGroupLog(operatorPlan, aggregation, store)
    // Spark removes the expired timer itself, after the last output row.
    log.slices.timer = None
    Iterator.single(new KeyGroupOutput(null, fire(log, timerValues.getCurrentWatermarkInMs())))
  }

  /** Fires the due windows, including those of the rows just added: such rows need not pass
    * through the state store. The state is written by the time the returned iterator is
    * exhausted.
    */
  private def fire(log: KeyGroupLog, watermarkMs: Long): Iterator[InternalRow] = {
    val watermark = SparkWatermark.toMicros(watermarkMs)
    val results = if (log.nextTimer <= watermark) log.fire(watermark) else Iterator.empty
    new AbstractIterator[InternalRow] {
      private var open = true
      override def hasNext: Boolean = results.hasNext || {
        if (open) finish(log)
        open = false
        false
      }
      override def next(): InternalRow = results.next()
    }
  }

  /** Sets the timer to the watermark at which the next window is due, and writes the state. */
  private def finish(log: KeyGroupLog): Unit = {
    val timer = GroupTimer.at(log.nextTimer)
    GroupTimer.move(getHandle, log.slices.timer, timer)
    log.slices.timer = timer
    log.save()
  }
}
