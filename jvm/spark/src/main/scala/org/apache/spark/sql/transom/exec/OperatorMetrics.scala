package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.transom.batch.SparkWatermark
import org.apache.spark.sql.transom.task.{KeyGroupMetrics, KeyGroupProcessor}
import org.apache.spark.sql.types._

import transom.engine.runtime.{DeadLetterReason, Gauges, RowCount, RowCounts, TouchedWindows}
import transom.engine.time.Watermark
import transom.engine.window.GlobalGrid

/** The metrics of an operator that the progress of a query shows. The time stage of a window
  * operator belongs to it. Times are microseconds since 1970.
  */
object OperatorMetrics {

  /** A metric.
    *
    * @param value
    *   computes the value in the last batch
    */
  private final class Metric(val field: StructField, val value: Measured => Any)

  private val partitionType = new StructType()
    .add("id", StringType)
    .add("watermark_us", LongType)
    .add("is_idle", BooleanType, nullable = false)

  private val metrics: Seq[Metric] =
    RowCounts.all.map(count => number(count.name)(_.count(count))) ++ Seq(
      number("rows_dead_lettered")(_.deadLetters),
      number("rows_open")(_.rowsOpen),
      number("partition_count")(_.clocks.map(GaugeRow.partitionCount).sum),
      optional("watermark_us")(_.watermark),
      optional("watermark_delay_us")(_.watermarkDelay),
      optional("earliest_open_us")(_.open.map(_._1)),
      optional("latest_open_us")(_.open.map(_._2)),
      number("state_bytes")(_.stateBytes),
      new Metric(
        StructField("partitions", ArrayType(partitionType, containsNull = false)),
        _.clocks.flatMap(GaugeRow.partitions)))

  /** The names and types of the metrics, in order. The counts come first. */
  val schema: StructType = StructType(metrics.map(_.field))

  /** The metrics of the last batch, in the order of `schema`.
    *
    * @param own
    *   the node that has unpacked the outputs of the operator
    * @param stage
    *   the same node of the time stage in front of the operator, if there is one
    */
  def of(own: KeyGroupOutputsExec, stage: Option[KeyGroupOutputsExec]): Seq[Any] = {
    val measured = new Measured(own, stage)
    metrics.map(_.value(measured))
  }

  private def number(name: String)(value: Measured => Long): Metric =
    new Metric(StructField(name, LongType, nullable = false), value)

  private def optional(name: String)(value: Measured => Option[Long]): Metric =
    new Metric(StructField(name, LongType), value(_).map(Long.box).orNull)

  /** What the tasks of a batch have reported. Create one per batch: it notes the open windows. */
  private final class Measured(own: KeyGroupOutputsExec, stage: Option[KeyGroupOutputsExec]) {
    private val ownMetrics = own.batchMetrics
    private val stageMetrics = stage.map(_.batchMetrics)
    private val operator = operatorOf(own)
    private val run = operator.stateInfo.map(_.queryRunId)

    /** The gauges of the key groups that know the watermark. */
    val clocks: Seq[Row] = stageMetrics.fold(ownMetrics.gauges)(_.gauges)

    val watermark: Option[Long] =
      clocks.flatMap(GaugeRow.watermark).maxOption.orElse(sparkWatermark(operator))

    /** The earliest and the latest start of the open windows. */
    val open: Option[(Long, Long)] = run.flatMap { run =>
      own.openWindows
        .after(run, touched(GaugeRow.open))
        .orElse(own.openWindows.afterTouching(run, ownMetrics.gauges.flatMap(GaugeRow.touched)))
    }

    val rowsOpen: Long =
      run.fold(0L)(run => own.openWindows.rowsAfter(run, touched(GaugeRow.rowsOpen)))

    def watermarkDelay: Option[Long] = watermark.flatMap(delay(operator.batchTimestampMs, _))

    def stateBytes: Long =
      (Seq(operator) ++ stage.map(operatorOf)).map(_.longMetric("stateMemory").value).sum

    def count(count: RowCount): Long =
      if (count.isOfStage) stageMetrics.fold(0L)(_.counts(count.index))
      else ownMetrics.counts(count.index)

    def deadLetters: Long = DeadLetterReason.all.map(_.count).distinct.map(count).sum

    /** The key groups of the batch, each with a gauge, if it has one. */
    private def touched[T](gauge: Row => Option[T]): Seq[(Int, Option[T])] =
      ownMetrics.gauges.map(row => (GaugeRow.group(row), gauge(row)))
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
}

/** The gauges of a key group as a row, because the driver may not know classes of transom when it
  * reads the results of a task.
  */
object GaugeRow {

  /** The gauges of a key group, if its operator knows them. */
  def of(metrics: KeyGroupMetrics): Option[Row] =
    metrics.gauges.map(of(metrics.group, _, metrics.partitionId))

  private def of(group: Int, gauges: Gauges, partitionId: Array[Byte] => String): Row = Row(
    group,
    gauges.watermark.map(Long.box).orNull,
    gauges.open.map(open => Long.box(open.earliest)).orNull,
    gauges.open.map(open => Long.box(open.latest)).orNull,
    gauges.partitions.map { partition =>
      val watermark = Option(partition.watermark).filter(_ != Watermark.NotYet)
      Row(partitionId(partition.source), watermark.map(Long.box).orNull, partition.isIdle)
    },
    gauges.rowsOpen.map(Long.box).orNull,
    gauges.touched.map { windows =>
      Row(
        windows.reached,
        windows.closings.iterator.map { case (start, closing) => Row(start, closing) }.toSeq)
    }.orNull,
    gauges.partitionCount)

  def group(gauges: Row): Int = gauges.getInt(0)

  def watermark(gauges: Row): Option[Long] = long(gauges, 1)

  /** The earliest and the latest start of the open windows. */
  def open(gauges: Row): Option[(Long, Long)] =
    long(gauges, 2).zip(long(gauges, 3))

  /** The number of the input's partitions. */
  def partitionCount(gauges: Row): Long = gauges.getInt(7).toLong

  /** Rows of id, watermark or null, and whether the partition is idle. */
  def partitions(gauges: Row): Seq[Row] = gauges.getSeq[Row](4)

  /** The number of rows that wait for the row with their end, if rows wait. */
  def rowsOpen(gauges: Row): Option[Long] = long(gauges, 5)

  /** The open windows of the touched keys, if the operator knows them. */
  def touched(gauges: Row): Option[TouchedWindows] = Option(gauges.getStruct(6)).map { windows =>
    new TouchedWindows(
      windows.getLong(0),
      windows.getSeq[Row](1).map(each => each.getLong(0) -> each.getLong(1)).toMap)
  }

  private def long(gauges: Row, field: Int): Option[Long] =
    Option.unless(gauges.isNullAt(field))(gauges.getLong(field))
}
