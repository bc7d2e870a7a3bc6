package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.transom.batch.SparkWatermark
import org.apache.spark.sql.transom.planned.WindowOperatorPlan

/** The stateful processor of a streaming operator.
  *
  * One instance serves the key groups of a partition for one batch. A key group with rows also
  * does the work that is due in the same call. A key group without rows runs when its timer
  * expires.
  */
final class KeyGroupProcessor(private val tasks: KeyGroupTasks)
    extends StatefulProcessor[Int, InternalRow, InternalRow] {
  @transient private lazy val task = tasks.create()
  @transient private var state: task.State = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    state = task.storeOf(new SparkKeyGroupState(getHandle))

  override def handleInputRows(
      group: Int,
      rows: Iterator[InternalRow],
      timerValues: TimerValues): Iterator[InternalRow] =
    process(group, rows, timerValues, isExpired = false)

  override def handleExpiredTimer(
      group: Int,
      timerValues: TimerValues,
      expiredTimer: ExpiredTimerInfo): Iterator[InternalRow] =
    process(group, Iterator.empty, timerValues, isExpired = true)

  private def process(
      group: Int,
      exchangeRows: Iterator[InternalRow],
      timerValues: TimerValues,
      isExpired: Boolean): Iterator[InternalRow] = {
    val operator = task.open(group, state, timerValues.getCurrentProcessingTimeInMs())
    // Spark removes the expired timer itself, after the last output row.
    val before = if (isExpired) None else GroupTimer.at(operator.nextTimer)
    def moveTimer(): Iterator[InternalRow] = {
      GroupTimer.move(getHandle, before, GroupTimer.at(operator.nextTimer))
      Iterator.empty
    }
    val watermark = SparkWatermark.toMicros(timerValues.getCurrentWatermarkInMs())
    val rows = operator.process(task.inputs(exchangeRows, watermark)) ++ moveTimer()
    // The metrics are complete only after the rows have been read, so they follow as a separate
    // output.
    Iterator.single(new KeyGroupOutput(None, rows)) ++
      KeyGroupMetrics
        .of(group, operator, task.partitionId)
        .map(metrics => new KeyGroupOutput(Some(metrics), Iterator.empty))
  }
}

/** Creates processors, in the type in which Spark's plans hold them. */
object KeyGroupProcessor {
  type Untyped = StatefulProcessor[Any, Any, Any]

  def of(tasks: KeyGroupTasks): Untyped = new KeyGroupProcessor(tasks).asInstanceOf[Untyped]

  /** A processor of transom in a batch, see `KeyGroupTasks.in`. */
  def in(processor: Untyped, change: WindowOperatorPlan => WindowOperatorPlan): Untyped =
    of(tasks(processor).in(change))

  /** The tasks of a processor of transom. */
  def tasks(processor: Untyped): KeyGroupTasks = processor.asInstanceOf[KeyGroupProcessor].tasks
}
