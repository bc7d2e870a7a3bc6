package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming._

/** The streaming window operator of the keyed layout.
  *
  * One instance serves the key groups of a partition for one batch. A key group with rows also
  * advances its time in the same call. A key group without rows runs when its timer expires.
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

  // Spark deletes the expired timer once the output iterator is exhausted.
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
      // Late rows are found while `output` is consumed, so the counts come after it.
      Iterator.single(new KeyGroupOutput(if (isExpired) null else counts.row, Iterator.empty))
  }
}
