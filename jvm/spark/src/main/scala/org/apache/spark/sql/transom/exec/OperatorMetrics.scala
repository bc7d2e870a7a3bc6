package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.transom.batch.SparkWatermark
import org.apache.spark.sql.transom.task.{GaugeRow, KeyGroupProcessor}
import org.apache.spark.sql.types._

import transom.engine.operator.{DeadLetterReason, RowCounts}
import transom.engine.time.Watermark
import transom.engine.window.GlobalGrid

/** The metrics of an operator that the progress of a query shows. The time stage of a window
  * operator belongs to it. Times are microseconds since 1970.
  */
object OperatorMetrics {
  private val partitionType = new StructType()
    .add("id", StringType)
    .add("watermark_us", LongType)
    .add("is_idle", BooleanType, nullable = false)

  /** The names and types of the metrics, in order. The counts come first. */
  val schema: StructType = StructType(
    RowCounts.names.map(StructField(_, LongType, nullable = false)) ++ Seq(
      StructField("rows_dead_lettered", LongType, nullable = false),
      StructField("rows_open", LongType, nullable = false),
      StructField("partition_count", LongType, nullable = false),
      StructField("watermark_us", LongType),
      StructField("watermark_delay_us", LongType),
      StructField("earliest_open_us", LongType),
      StructField("latest_open_us", LongType),
      StructField("state_bytes", LongType, nullable = false),
      StructField("partitions", ArrayType(partitionType, containsNull = false))))

  /** The metrics of the last batch, in the order of `schema`.
    *
    * @param own
    *   the node that has unpacked the outputs of the operator
    * @param stage
    *   the same node of the time stage in front of the operator, if there is one
    */
  def of(own: KeyGroupOutputsExec, stage: Option[KeyGroupOutputsExec]): Seq[Any] = {
    val (ownMetrics, stageMetrics) = (own.batchMetrics, stage.map(_.batchMetrics))
    // The window operator counts the rows again that the stage has counted, but for these counts.
    val ofStage = Set(RowCounts.IdleCloses, RowCounts.Overtaken)
    val counts = RowCounts.names.indices.map { count =>
      if (ofStage(count)) stageMetrics.fold(0L)(_.counts(count)) else ownMetrics.counts(count)
    }
    val operator = operatorOf(own)
    val gauges = ownMetrics.gauges
    val clocks = stageMetrics.fold(gauges)(_.gauges)
    val watermark =
      clocks.flatMap(GaugeRow.watermark).maxOption.orElse(sparkWatermark(operator))
    // The key groups of the batch, each with a gauge, if it has one.
    def touched[T](gauge: Row => Option[T]) =
      gauges.map(row => (GaugeRow.group(row), gauge(row)))
    val run = operator.stateInfo.map(_.queryRunId)
    val open = run.flatMap { run =>
      own.openWindows
        .after(run, touched(GaugeRow.open))
        .orElse(own.openWindows.afterTouching(run, gauges.flatMap(GaugeRow.touched)))
    }
    val rowsOpen = run.map(own.openWindows.rowsAfter(_, touched(GaugeRow.rowsOpen)))
    counts ++ Seq(
      DeadLetterReason.counts.map(ownMetrics.counts).sum,
      rowsOpen.getOrElse(0L),
      clocks.map(GaugeRow.partitionCount).sum,
      orNull(watermark),
      orNull(watermark.flatMap(delay(operator.batchTimestampMs, _))),
      orNull(open.map(_._1)),
      orNull(open.map(_._2)),
      (Seq(operator) ++ stage.map(operatorOf)).map(_.longMetric("stateMemory").value).sum,
      clocks.flatMap(GaugeRow.partitions))
  }

  /** The stateful operator whose outputs a node has unpacked. */
  def operatorOf(outputs: KeyGroupOutputsExec): TransformWithStateExec =
    outputs.child.collectFirst { case operator: TransformWithStateExec => operator }.get

  /** The watermark of Spark by which the windows of the batch fire, if they follow it. */
  def sparkWatermark(operator: TransformWithStateExec): Option[Long] =
    operator.eventTimeWatermarkForEviction
      .map(SparkWatermark.toMicros)
      .filter(
        _ != Watermark.NotYet && KeyGroupProcessor.tasks(operator.statefulProcessor).followSpark)

  /** The wall clock of the batch minus the watermark; none once the input has ended. */
  def delay(clockMs: Option[Long], watermark: Long): Option[Long] =
    clockMs.filter(_ => watermark < GlobalGrid.EndOfTime).map(_ * 1000L - watermark)

  private def orNull(value: Option[Long]): Any = value.map(Long.box).orNull
}
