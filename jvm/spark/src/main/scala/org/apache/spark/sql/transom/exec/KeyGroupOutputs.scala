package org.apache.spark.sql.transom.exec

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{InputRDDCodegen, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.task.KeyGroupOutput
import org.apache.spark.sql.types.{DataType, ObjectType}
import org.apache.spark.util.{CollectionAccumulator, CompletionIterator}

import transom.engine.runtime.RowCounts

/** Logical node that unpacks the key group outputs from the object column of a stateful operator.
  *
  * @param openWindows
  *   the open windows of the operator, from batch to batch
  */
case class KeyGroupOutputs(
    operatorId: String,
    openWindows: OpenWindowGauge,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyGroupOutputs =
    copy(child = newChild)
}

/** Unwraps the key group outputs from the object column of a stateful operator.
  *
  * Collects their counts and gauges, see [[BatchMetrics]]. Spark's UI shows sums over all tasks:
  * they include tasks whose stage runs again because its shuffle files are lost.
  *
  * @param operatorId
  *   identifies the operator within its query
  * @param openWindows
  *   the open windows of the operator, from batch to batch
  */
case class KeyGroupOutputsExec(
    operatorId: String,
    @transient openWindows: OpenWindowGauge,
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {

  // The sum of watermarks means nothing. Spark shows the smallest, median and largest average of
  // the tasks.
  override lazy val metrics: Map[String, SQLMetric] = RowCounts.all.map { count =>
    import count.name
    name -> SQLMetrics.createMetric(sparkContext, s"transom ${name.replace('_', ' ')}")
  }.toMap ++ Seq(
    "watermark" -> average("transom watermark (ms since 1970)"),
    "watermark_delay" -> average("transom watermark delay (ms)"))

  private def average(name: String): SQLMetric =
    SQLMetrics.createAverageMetric(sparkContext, name)

  // The driver reads task results with a class loader that does not see jars added to a session.
  // The accumulator and its elements must therefore be of classes of Spark.
  @transient private lazy val collected = {
    val tasks = new CollectionAccumulator[Row]
    tasks.register(sparkContext)
    tasks
  }

  /** The metrics of the batch, from the last task of each partition that has ended. */
  def batchMetrics: BatchMetrics = BatchMetrics.of(collected.value.asScala.toSeq)

  override def producedAttributes: AttributeSet = outputSet

  override def resetMetrics(): Unit = {
    collected.reset()
    super.resetMetrics()
  }

  override protected def doExecute(): RDD[InternalRow] = {
    checkStateStore()
    val tasks = collected
    val counters = RowCounts.all.map(count => longMetric(count.name))
    val (watermark, delay) = (longMetric("watermark"), longMetric("watermark_delay"))
    val operator = OperatorMetrics.operatorOf(this)
    val (common, clock) = (OperatorMetrics.sparkWatermark(operator), operator.batchTimestampMs)
    child.execute().mapPartitionsWithIndexInternal { (partition, outputs) =>
      var latest = Long.MinValue
      def note(reached: Long): Unit = if (reached > latest) {
        latest = reached
        watermark.set(reached / 1000.0)
        OperatorMetrics.delay(clock, reached).foreach(behind => delay.set(behind / 1000.0))
      }
      // One task is enough for a watermark that all tasks share.
      if (partition == 0) common.foreach(note)
      val counts = new Array[Long](counters.length)
      val gauges = ArrayBuffer.empty[Row]
      val noted = outputs.map { wrapped =>
        val groupOutput = wrapped.get(0, RowObject.dataType).asInstanceOf[KeyGroupOutput]
        groupOutput.metrics.foreach { metrics =>
          RowCounts.all.foreach { count =>
            counters(count.index) += metrics.counts(count)
            counts(count.index) += metrics.counts(count)
          }
          GaugeRow.of(metrics).foreach { row =>
            gauges += row
            GaugeRow.watermark(row).foreach(note)
          }
        }
        groupOutput
      }
      CompletionIterator[InternalRow, Iterator[InternalRow]](
        noted,
        tasks.add(BatchMetrics.ofTask(partition, counts, gauges.toSeq)))
    }
  }

  /** Throws if the state store provider is not RocksDB.
    *
    * The check runs with each batch, because a restored checkpoint replaces the setting. Spark's
    * operator also rejects other providers, but with its own error.
    */
  private def checkStateStore(): Unit = {
    val rocksDb = classOf[RocksDBStateStoreProvider].getName
    val provider = conf.stateStoreProviderClass
    if (provider != rocksDb)
      throw new TransomException(
        "TRANSOM_STATE_STORE",
        Map(
          "provider" -> provider,
          "setting" -> SQLConf.STATE_STORE_PROVIDER_CLASS.key,
          "rocksdb" -> rocksDb))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyGroupOutputsExec =
    copy(child = newChild)
}

/** Logical node that flattens key group outputs to rows. */
case class OutputRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): OutputRows =
    copy(child = newChild)
}

/** Emits the rows of key group outputs. Generated code above reads their columns without a copy.
  */
case class OutputRowsExec(output: Seq[Attribute], child: SparkPlan) extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] =
    child.execute().mapPartitionsInternal(_.flatMap(_.asInstanceOf[KeyGroupOutput].rows))

  override protected def withNewChildInternal(newChild: SparkPlan): OutputRowsExec =
    copy(child = newChild)
}

/** A physical node whose rows are not `UnsafeRow`s.
  *
  * Whole-stage code generation starts at this node.
  */
trait ResultRowsExec extends UnaryExecNode with InputRDDCodegen {
  override protected def canCheckLimitNotReached: Boolean = true

  override def producedAttributes: AttributeSet = outputSet

  override protected val createUnsafeProjection: Boolean = true

  override protected def doExecute(): RDD[InternalRow] = {
    val types = output.map(_.dataType).toArray
    inputRDD.mapPartitionsInternal(rows => rows.map(UnsafeProjection.create(types)))
  }
}

/** Expression that returns the input row itself, so that a stateful processor receives rows
  * without conversion.
  */
case class RowObject() extends LeafExpression {
  override def dataType: DataType = RowObject.dataType
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = input
  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(
      code = EmptyBlock,
      isNull = FalseLiteral,
      value = JavaCode.expression(ctx.INPUT_ROW, dataType))
}

/** The type of [[RowObject]]. */
object RowObject {
  val dataType: ObjectType = ObjectType(classOf[InternalRow])
}
