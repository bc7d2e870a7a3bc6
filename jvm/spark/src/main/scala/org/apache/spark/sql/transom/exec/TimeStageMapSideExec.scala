package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.exchange.TimeStageEncoder
import org.apache.spark.sql.transom.operator.{MapSideNode, OperatorSpec, TimeStagePlan}

/** Map side of a time stage: encodes rows by source, in their order. */
case class TimeStageMapSideExec(
    plan: TimeStagePlan,
    spec: OperatorSpec,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operatorId: String,
    child: SparkPlan)
    extends UnaryExecNode
    with MapSideNode {

  override def producedAttributes: AttributeSet = outputSet ++ AttributeSet(input)

  // Tasks read columns by their position in `input`, so Spark must not prune any column of the
  // child.
  @transient override lazy val references: AttributeSet = child.outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    val (taskPlan, columns) = (plan, input)
    InputRows.of(child).mapPartitionsInternal(new TimeStageEncoder(taskPlan, columns, _))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): TimeStageMapSideExec =
    copy(child = newChild)
}
