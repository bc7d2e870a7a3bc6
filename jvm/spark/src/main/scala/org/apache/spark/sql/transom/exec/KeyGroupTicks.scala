package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.exchange.ExchangeEncoder
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

import transom.engine.time.Watermark

/** Logical node that sends each row of a clock to every key group of an operator.
  *
  * @param output
  *   columns of the exchange format
  */
case class KeyGroupTicks(
    operatorPlan: WindowOperatorPlan,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyGroupTicks =
    copy(child = newChild)
}

/** Emits one tick per key group, in the exchange format, for each row of a clock. */
case class KeyGroupTicksExec(
    operatorPlan: WindowOperatorPlan,
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    val taskPlan = operatorPlan
    child.execute().mapPartitionsInternal { ticks =>
      val encoder = new ExchangeEncoder(taskPlan.order, Watermark.NotYet)
      ticks.flatMap(_ => (0 until taskPlan.keyGroups).iterator.map(encoder.tick))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyGroupTicksExec =
    copy(child = newChild)
}
