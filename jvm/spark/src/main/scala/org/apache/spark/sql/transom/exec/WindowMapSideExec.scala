package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.batch.LateWatermark
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.exchange.MapSidePlan
import org.apache.spark.sql.transom.planned.{KeyedLayout, MapSideNode, OperatorSpec, WindowOperatorPlan}
import org.apache.spark.sql.transom.schema.StateSchema

import transom.engine.time.Watermark

/** Map side of a window operator: encodes rows by key group, combined by slice or one by one. The
  * exchange and the sort then handle a few large rows instead of one row per key.
  */
case class WindowMapSideExec(
    operatorPlan: WindowOperatorPlan,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operatorId: String,
    child: SparkPlan)
    extends UnaryExecNode
    with MapSideNode {

  override def spec: OperatorSpec = operatorPlan.spec

  @transient override lazy val stateSchema: Option[StateSchema] = Some(operatorPlan.schema)

  override def producedAttributes: AttributeSet = outputSet ++ AttributeSet(input)

  // Tasks read columns by their position in `input`, so Spark must not prune any column of the
  // child.
  @transient override lazy val references: AttributeSet = child.outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    // Behind a time policy, the watermark comes with the rows.
    val watermark =
      if (operatorPlan.followsSpark) LateWatermark.of(session, operatorId)
      else Watermark.NotYet
    val plan = new MapSidePlan(operatorPlan, input, watermark)
    InputRows
      .of(child)
      .mapPartitionsWithIndexInternal(
        (_, rows) => plan.encode(rows),
        isOrderSensitive = operatorPlan.layout == KeyedLayout)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): WindowMapSideExec =
    copy(child = newChild)
}
