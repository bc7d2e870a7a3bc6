package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exchange.{HeldRows, TimeStageEncoder}
import org.apache.spark.sql.transom.planned.{MapSideNode, OperatorSpec, TimeStagePlan}
import org.apache.spark.sql.transom.schema.StateSchema

/** Map side of a time stage: encodes rows by source, in their order.
  *
  * If the rows stay with their tasks, Spark's block manager keeps them until
  * [[StampedHeldRowsExec]] has read them, and at most until the batch ends.
  */
case class TimeStageMapSideExec(
    plan: TimeStagePlan,
    spec: OperatorSpec,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operatorId: String,
    child: SparkPlan)
    extends UnaryExecNode
    with MapSideNode {

  override def stateSchema: Option[StateSchema] = None

  override def producedAttributes: AttributeSet = outputSet ++ AttributeSet(input)

  // Tasks read columns by their position in `input`, so Spark must not prune any column of the
  // child.
  @transient override lazy val references: AttributeSet = child.outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    val taskPlan = plan
    val (read, rows): (Seq[Attribute], RDD[InternalRow]) =
      if (plan.holdsRows) (plan.columns, held.mapPartitionsInternal(HeldRows.read(taskPlan, _)))
      else (input, InputRows.of(child))
    rows.mapPartitionsWithIndexInternal(
      (split, rows) => new TimeStageEncoder(taskPlan, read, split, rows),
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
