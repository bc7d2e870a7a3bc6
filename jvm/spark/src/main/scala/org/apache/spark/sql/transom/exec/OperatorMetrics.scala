package org.apache.spark.sql.transom.exec

import java.util.{UUID, WeakHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.transom.batch.SparkWatermark
import org.apache.spark.sql.transom.realtime.TaskReport
import org.apache.spark.sql.transom.task.{KeyGroupMetrics, KeyGroupProcessor}
import org.apache.spark.sql.types._
import org.apache.spark.util.CollectionAccumulator

import transom.engine.runtime.{DeadLetterReason, Gauges, OpenByKeys, RowCount, RowCounts, TouchedWindows}
import transom.engine.time.{Timeline, Watermark}

/** Adds the metrics of an operator to the progress of the query.
  *
  * Replaces Spark's own node, which sends the expressions of all metrics to each task and back.
  * This transfer takes longer than counting. The node below has the metrics already.
  *
  * @param metrics
  *   the metrics, see [[OperatorMetrics.schema]]
  */
final class ObservedMetricsExec(name: String, metrics: Seq[NamedExpression], outputs: SparkPlan)
    extends CollectMetricsExec(name, metrics, outputs) {

  override def collectedMetrics: Row = {
    val own = outputsIn(child).head
    val stage = outputsIn(own.child).find(_.operatorId == own.operatorId)
    new GenericRowWithSchema(OperatorMetrics.of(own, stage).toArray, metricsSchema)
  }

  private def outputsIn(plan: SparkPlan): Seq[KeyGroupOutputsExec] =
    plan.collect { case node: KeyGroupOutputsExec => node }

  override def resetMetrics(): Unit = child.resetMetrics()

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedMetricsExec =
    new ObservedMetricsExec(name, metrics, newChild)
}

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
      number("partition_count")(_.watermarkGauges.map(GaugeRow.partitionCount).sum),
      optional("watermark_us")(_.watermark),
      optional("watermark_delay_us")(_.watermarkDelay),
      optional("earliest_open_us")(_.open.map(_._1)),
      optional("latest_open_us")(_.open.map(_._2)),
      number("state_bytes")(_.stateBytes),
      new Metric(
        StructField("partitions", ArrayType(partitionType, containsNull = false)),
        _.watermarkGauges.flatMap(GaugeRow.partitions)))

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

  /** The metrics of a batch in Real-Time Mode, from the reports of its tasks. Besides the metrics
    * of micro-batches, there are the numbers of results by their latency: how long the row that
    * caused a result had been read before.
    */
  def ofReports(reports: CollectionAccumulator[Row]): Seq[NamedExpression] = {
    def reported(of: Seq[Long] => Option[Long], names: Seq[String]): Expression =
      ReportedMetric(reports, names.map(TaskReport.columns.indexOf(_)), of)
    def total(names: String*): Expression = reported(values => Some(values.sum), names)
    val named = metrics.map(_.field.name).map { name =>
      val value = name match {
        case "rows_dead_lettered" => total(DeadLetterReason.all.map(_.count.name).distinct: _*)
        case "earliest_open_us" => reported(_.minOption, Seq(name))
        case "watermark_us" | "watermark_delay_us" | "latest_open_us" =>
          reported(_.maxOption, Seq(name))
        case "partitions" => Literal.create(Nil, ArrayType(partitionType, containsNull = false))
        case known if TaskReport.columns.contains(known) => total(known)
        case _ => Literal(0L)
      }
      Alias(value, s"transom_$name")()
    }
    val latencies =
      TaskReport.LatencyBoundsMs.zip(TaskReport.LatencyNames).map { case (bound, name) =>
        val most = if (bound == Long.MaxValue) Literal(null, LongType) else Literal(bound)
        CreateNamedStruct(Seq(Literal("up_to_ms"), most, Literal("results"), total(name)))
      }
    named :+ Alias(CreateArray(latencies), "transom_result_latency")()
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
    val watermarkGauges: Seq[Row] = stageMetrics.fold(ownMetrics.gauges)(_.gauges)

    val watermark: Option[Long] =
      watermarkGauges.flatMap(GaugeRow.watermark).maxOption.orElse(sparkWatermark(operator))

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
        _ != Watermark.NotYet && KeyGroupProcessor
          .tasks(operator.statefulProcessor)
          .hasSparkWatermark)

  /** The wall clock of the batch minus the watermark; none once the input has ended. */
  def delay(clockMs: Option[Long], watermark: Long): Option[Long] =
    clockMs.filter(_ => watermark < Timeline.EndOfTime).map(_ * 1000L - watermark)
}

/** A metric of a batch in Real-Time Mode. Spark evaluates it on the driver once the batch has
  * ended.
  *
  * Spark allows only its own node for metrics in this mode. With aggregates, the node would
  * generate code for all metrics in each task, and the results of a batch would wait for it.
  *
  * @param reports
  *   the reports of the tasks
  * @param columns
  *   the columns of the reports that belong to the metric
  * @param of
  *   computes the metric from the values of the columns that are not null
  */
case class ReportedMetric(
    reports: CollectionAccumulator[Row],
    columns: Seq[Int],
    of: Seq[Long] => Option[Long])
    extends LeafExpression
    with CodegenFallback {
  override def dataType: DataType = LongType
  override def nullable: Boolean = true
  override def eval(input: InternalRow): Any = {
    val values = for {
      report <- reports.value.asScala.toSeq
      column <- columns
      if !report.isNullAt(column)
    } yield report.getLong(column)
    of(values).map(Long.box).orNull
  }
  override def toString: String = "reported"
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

/** The metrics of an operator in a batch.
  *
  * @param counts
  *   the sum of each count, see [[RowCounts]]
  * @param gauges
  *   a row for each key group that the batch has touched, see `GaugeRow`
  */
final class BatchMetrics(val counts: Seq[Long], val gauges: Seq[Row])

/** Collects the metrics of the tasks of a batch. The rows are of classes of Spark and Scala,
  * because the driver may not know classes of transom when it reads the results of a task.
  */
object BatchMetrics {

  /** The metrics of a task that has processed all its key groups. */
  def ofTask(partition: Int, counts: Array[Long], gauges: Seq[Row]): Row =
    Row(partition, counts, gauges)

  /** The metrics of a batch.
    *
    * Spark runs a finished task again if its shuffle files are lost, or if a second action reads
    * the batch. So only the last task of each partition counts.
    *
    * @param tasks
    *   the metrics of all tasks that have succeeded, in the order in which they ended
    */
  def of(tasks: Seq[Row]): BatchMetrics = {
    val last = tasks.map(task => task.getInt(0) -> task).toMap.values.toVector
    val counts = last.map(_.getAs[Array[Long]](1))
    new BatchMetrics(
      RowCounts.all.map(count => counts.map(_(count.index)).sum),
      last.flatMap(_.getSeq[Row](2)))
  }
}

/** Remembers the open windows and the open rows of the key groups of an operator, on the driver.
  *
  * A batch reports only the key groups that it has touched. All other key groups are as they
  * were. After a restart a key group counts once a batch has touched it.
  *
  * One DataFrame may be started several times, so each run of a query has its own memory. The
  * memory lasts as long as the run's id, which the query holds.
  */
final class OpenWindowGauge {
  private val byRun = new WeakHashMap[UUID, OpenInRun]

  /** Notes the key groups of a batch, and returns the earliest and the latest start of all open
    * windows. Times are microseconds since 1970.
    *
    * @param run
    *   the run of the query to which the batch belongs
    * @param touched
    *   the key groups of the batch, each with the earliest and the latest start of its open
    *   windows, if it has any
    */
  def after(run: UUID, touched: Seq[(Int, Option[(Long, Long)])]): Option[(Long, Long)] =
    synchronized {
      val all = in(run).starts.after(touched)
      Option.when(all.nonEmpty)((all.map(_._1).min, all.map(_._2).max))
    }

  /** Notes the windows of the keys that a batch has touched, and returns the earliest and the
    * latest start of all open windows. After a restart a key counts once a batch has touched it.
    */
  def afterTouching(run: UUID, touched: Seq[TouchedWindows]): Option[(Long, Long)] =
    synchronized(in(run).byKeys.after(touched).map(open => (open.earliest, open.latest)))

  /** Notes the key groups of a batch, and returns the number of all rows that wait for the row
    * with their end.
    */
  def rowsAfter(run: UUID, touched: Seq[(Int, Option[Long])]): Long =
    synchronized(in(run).rows.after(touched).sum)

  private def in(run: UUID): OpenInRun = byRun.computeIfAbsent(run, _ => new OpenInRun)

  // Spark prints this text with each node of a plan.
  override def toString: String = "open windows"
}

/** The open windows and the open rows of a run. */
private final class OpenInRun {
  val starts = new LatestGauges[(Long, Long)]
  val rows = new LatestGauges[Long]
  val byKeys = new OpenByKeys
}

/** The last gauge that each key group has reported. */
private final class LatestGauges[T] {
  private val byGroup = mutable.HashMap.empty[Int, T]

  /** Notes the gauges of a batch, and returns those of all key groups. */
  def after(touched: Seq[(Int, Option[T])]): Seq[T] = {
    touched.foreach { case (group, gauge) => byGroup.updateWith(group)(_ => gauge) }
    byGroup.values.toVector
  }
}
