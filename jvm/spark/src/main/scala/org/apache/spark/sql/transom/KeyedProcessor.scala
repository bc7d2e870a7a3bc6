package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming._

/** The window operator of a stream in the keyed layout: one instance serves the key groups of a
  * partition, for one batch. A group that gets rows moves its time with them; one that gets none
  * is woken by its timer.
  */
final class KeyedProcessor(operatorPlan: WindowOperatorPlan)
    extends StatefulProcessor[Int, InternalRow, InternalRow] {
  @transient private lazy val task = new KeyedTask(operatorPlan)
  @transient private var store: StateStoreKeys = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    store = new StateStoreKeys(getHandle, operatorPlan.settings)

  override def handleInputRows(
      group: Int,
      rows: Iterator[InternalRow],
      timerValues: TimerValues): Iterator[InternalRow] =
    process(group, rows, timerValues, isExpired = false)

  // Spark removes the expired timer itself, after the last row has been taken.
  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expiredTimer: ExpiredTimerInfo): Iterator[InternalRow] =
    process(group, Iterator.empty, timerValues, isExpired = true)

  private def process(
      group: Int,
      rows: Iterator[InternalRow],
      timerValues: TimerValues,
      isExpired: Boolean): Iterator[InternalRow] = {
    val counts = new RowCounts
    val output = task.process(
      group,
      store,
      rows,
      SparkWatermark.toMicros(timerValues.getCurrentWatermarkInMs()),
      timerValues.getCurrentProcessingTimeInMs(),
      counts) { (before, now) =>
      GroupTimer.move(
        getHandle,
        if (isExpired) None else GroupTimer.at(before),
        GroupTimer.at(now))
    }
    Iterator.single(new KeyGroupOutput(null, output)) ++
      // Rows are judged as they go on, so they are counted once they have gone.
      Iterator.single(new KeyGroupOutput(if (isExpired) null else counts.row, Iterator.empty))
  }
}
