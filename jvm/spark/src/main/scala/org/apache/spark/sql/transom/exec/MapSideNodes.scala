package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exchange.{HeldRows, MapSidePlan, TimeStageEncoder}
import org.apache.spark.sql.transom.planned.{KeyedLayout, MapSideNode, OperatorSpec, TimeStagePlan, WindowOperatorPlan}
import org.apache.spark.sql.transom.schema.StateSchema
import org.apache.spark.storage.StorageLevel

import transom.engine.time.Watermark

/** A logical node that belongs to an operator. */
sealed trait OperatorNode extends LogicalPlan {
  def spec: OperatorSpec

  /** Identifies the operator within its query. */
  def operatorId: String
}

/** Finds operators in a plan. */
object OperatorNode {

  /** The last node of each operator in a plan, in the order in which rows pass them. */
  def allIn(plan: LogicalPlan): Seq[OperatorNode] =
    plan.collect { case node: OperatorNode => node }.distinctBy(_.operatorId).reverse
}

/** Logical node of the map side: encodes input rows by key group for the exchange. */
case class WindowMapSide(
    operatorPlan: WindowOperatorPlan,
    columns: Seq[Attribute],
    operatorId: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode
    with OperatorNode {
  override def spec: OperatorSpec = operatorPlan.operatorSpec
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): WindowMapSide =
    copy(child = newChild)
}

/** Map side of a window operator: encodes rows by key group, combined by slice or one by one. The
  * exchange and the sort then handle a few large rows instead of one row per key.
  */
case class WindowMapSideExec(
    operatorPlan: WindowOperatorPlan,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operatorId: String,
    child: SparkPlan)
    extends MapSideNode {

  override def spec: OperatorSpec = operatorPlan.operatorSpec

  @transient override lazy val stateSchema: Option[StateSchema] = Some(operatorPlan.schema)

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    // Otherwise the map side follows the watermark of the time stage or operator below.
    val watermark =
      if (operatorPlan.hasSparkWatermark) LateWatermark.of(session, operatorId)
      else Watermark.NotYet
    val plan = new MapSidePlan(operatorPlan, input, watermark)
    InputRows
      .of(child)
      .mapPartitionsWithIndexInternal(
        (_, rows) => plan.create().encode(rows),
        isOrderSensitive = operatorPlan.layout == KeyedLayout)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): WindowMapSideExec =
    copy(child = newChild)
}

/** Logical node of the map side of a time stage: encodes input rows by source for the exchange.
  *
  * @param spec
  *   the operator that the stage belongs to: the window operator that follows, or the stage
  *   itself
  */
case class TimeStageMapSide(
    plan: TimeStagePlan,
    spec: OperatorSpec,
    columns: Seq[Attribute],
    operatorId: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode
    with OperatorNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): TimeStageMapSide =
    copy(child = newChild)
}

/** Map side of a time stage: encodes rows by source, in their order.
  *
  * If the rows stay with their tasks, Spark's block manager keeps them until
  * [[WithJudgementsExec]] has read them, and at most until the batch ends.
  */
case class TimeStageMapSideExec(
    plan: TimeStagePlan,
    spec: OperatorSpec,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operatorId: String,
    child: SparkPlan)
    extends MapSideNode {

  override def stateSchema: Option[StateSchema] = None

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    val taskPlan = plan
    val (read, rows): (Seq[Attribute], RDD[InternalRow]) =
      if (plan.holdsRows) (plan.columns, held.mapPartitionsInternal(HeldRows.read(taskPlan, _)))
      else (input, InputRows.of(child))
    rows.mapPartitionsWithIndexInternal(
      (split, rows) => new TimeStageEncoder(taskPlan, read, split).encode(rows),
      isOrderSensitive = true)
  }

  /** The rows that stay with their tasks, in chunks of [[HeldRows]]. */
  @transient lazy val held: RDD[Array[Byte]] = {
    val (taskPlan, columns) = (plan, input)
    val rows = InputRows.of(child)
    // The planner has seen no shuffle, but Spark or the source may have added one.
    if (rows.outputDeterministicLevel != DeterministicLevel.DETERMINATE)
      throw new TransomException(
        "TRANSOM_ORDER_NOT_REPEATED",
        Map("operator" -> spec.name, "plan" -> child.nodeName))
    // The first task also sends the watermark on, so there is always one.
    val some =
      if (rows.getNumPartitions > 0) rows else sparkContext.parallelize(Seq.empty[InternalRow], 1)
    HeldBlocks.persist(some.mapPartitionsInternal(new HeldRows(taskPlan, columns, _)))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): TimeStageMapSideExec =
    copy(child = newChild)
}

/** Keeps the rows that stay with their tasks until a batch ends, however it ends.
  *
  * A task frees the rows that it has read to their end. Other blocks would stay until the garbage
  * collector of the driver runs: those that a task has read from another executor, and those of a
  * batch that fails.
  */
private object HeldBlocks {

  /** Persists rows for the running batch. Call on the thread of the batch. */
  def persist[T](rows: RDD[T]): RDD[T] = {
    val context = rows.sparkContext
    val running = Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running.foreach(id => context.addSparkListener(new UnpersistAtEnd(id.toLong, rows)))
    rows.persist(StorageLevel.MEMORY_AND_DISK)
  }
}

/** Unpersists rows when an execution ends. The batch of a stream is one execution. */
private final class UnpersistAtEnd(execution: Long, rows: RDD[_]) extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd if end.executionId == execution =>
      rows.unpersist(blocking = false)
      rows.sparkContext.removeSparkListener(this)
    case _ =>
  }
}
