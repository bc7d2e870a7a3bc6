package org.apache.spark.sql.transom.canary

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{encoderFor, ExpressionEncoder}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.ObjectType

/** What a probe processor emits for a key: rows that are computed while they are consumed. */
final class Emission(val rows: Iterator[ProbeRow])

object Emission {
  val dataType: ObjectType = ObjectType(classOf[Emission])
}

/** A stateful processor of a canary. It receives the ids of the rows of a group. */
abstract class ProbeProcessor extends StatefulProcessor[Int, Long, Emission] {
  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()
}

/** Builds the plans of canaries from the same logical nodes as transom. */
object Probe {

  /** Called on the driver when Spark plans and when it executes an input node. */
  final case class Watcher(
      onPlan: SparkPlan => Unit = _ => (),
      onExecute: SparkPlan => Unit = _ => ())

  private val watchers = new ConcurrentHashMap[String, Watcher]

  def watch(tag: String, watcher: Watcher): Unit = watchers.put(tag, watcher)

  def unwatch(): Unit = watchers.clear()

  private[canary] def watcherOf(tag: String): Watcher = watchers.getOrDefault(tag, Watcher())

  /** The columns of a probe row, as new attributes without metadata. */
  def attributes: Seq[Attribute] = DataTypeUtils.toAttributes(ProbeRow.schema)

  /** The rows under new attributes.
    *
    * @param tag
    *   name of the input node, for its watcher
    * @param statisticsSecond
    *   an event time that is added to the statistics of the watermark node instead of the rows'
    *   own times
    */
  def input(
      rows: DataFrame,
      tag: String = "input",
      statisticsSecond: Option[Long] = None): DataFrame =
    Dataset.ofRows(sessionOf(rows), ProbeInput(tag, statisticsSecond, attributes, planOf(rows)))

  /** The output of a stateful operator whose key is the group of the rows. */
  def operator(rows: DataFrame, processor: ProbeProcessor): DataFrame = {
    val child = planOf(rows)
    val (group, id) = (child.output.head, child.output.last)
    val operator = new TransformWithState(
      keyDeserializer = group,
      valueDeserializer = id,
      groupingAttributes = Seq(group),
      dataAttributes = child.output,
      statefulProcessor = processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      timeMode = TimeMode.EventTime(),
      outputMode = OutputMode.Append(),
      keyEncoder = encoderFor(Encoders.scalaInt).asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("emission", Emission.dataType, nullable = false)(),
      child = child,
      hasInitialState = false,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = child.output,
      initialStateDeserializer = id,
      initialState = LocalRelation(child.output.map(_.newInstance())))
    Dataset.ofRows(sessionOf(rows), ProbeOutput(attributes, operator))
  }

  private def planOf(rows: DataFrame): LogicalPlan =
    rows.asInstanceOf[Dataset[Row]].queryExecution.analyzed

  private def sessionOf(rows: DataFrame): SparkSession =
    rows.asInstanceOf[Dataset[Row]].sparkSession
}

case class ProbeInput(
    tag: String,
    statisticsSecond: Option[Long],
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): ProbeInput =
    copy(child = newChild)
}

case class ProbeInputExec(
    tag: String,
    statisticsSecond: Option[Long],
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet
  @transient override lazy val references: AttributeSet = child.outputSet

  override def requiredChildDistribution: Seq[Distribution] = {
    Probe.watcherOf(tag).onPlan(this)
    super.requiredChildDistribution
  }

  override protected def doExecute(): RDD[InternalRow] = {
    Probe.watcherOf(tag).onExecute(this)
    val rows = (child, statisticsSecond) match {
      case (node: EventTimeWatermarkExec, Some(second)) =>
        val statistics = node.eventTimeStats
        val ms = second * 1000L
        node.child.execute().mapPartitionsInternal { rows =>
          statistics.merge(new EventTimeStatsAccum(EventTimeStats(ms, ms, ms.toDouble, 1)))
          rows
        }
      case _ => child.execute()
    }
    val types = output.map(_.dataType).toArray
    rows.mapPartitionsInternal(rows => rows.map(UnsafeProjection.create(types)))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ProbeInputExec =
    copy(child = newChild)
}

case class ProbeOutput(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): ProbeOutput =
    copy(child = newChild)
}

/** Consumes the rows of emissions, as the nodes above transom's operators do. */
case class ProbeOutputExec(output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    val types = output.map(_.dataType).toArray
    child.execute().mapPartitionsInternal { wrapped =>
      wrapped
        .flatMap(_.get(0, Emission.dataType).asInstanceOf[Emission].rows)
        .map(_.internal)
        .map(UnsafeProjection.create(types))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ProbeOutputExec =
    copy(child = newChild)
}

/** Reports fixed metrics instead of the metrics that Spark would collect. */
final class FixedMetricsExec(name: String, metrics: Seq[NamedExpression], rows: SparkPlan)
    extends CollectMetricsExec(name, metrics, rows) {
  override def collectedMetrics: Row = Row(FixedMetricsExec.Value)

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): FixedMetricsExec =
    new FixedMetricsExec(name, metrics, newChild)
}

object FixedMetricsExec {
  final val Name = "fixed"
  final val Value = 42L
}

/** Plans the nodes of canaries. */
object ProbeStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ProbeInput(tag, statisticsSecond, output, child) =>
      ProbeInputExec(tag, statisticsSecond, output, planLater(child)) :: Nil
    case ProbeOutput(output, child) => ProbeOutputExec(output, planLater(child)) :: Nil
    case CollectMetrics(name @ FixedMetricsExec.Name, metrics, child, _) =>
      new FixedMetricsExec(name, metrics, planLater(child)) :: Nil
    case _ => Nil
  }
}
