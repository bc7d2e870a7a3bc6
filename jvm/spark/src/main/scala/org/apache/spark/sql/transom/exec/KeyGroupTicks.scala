package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.exchange.ExchangeEncoder

/** Logical node that sends each row of a clock to the first key groups of an operator.
  *
  * @param order
  *   the columns of the operator that define the order of arrival
  * @param groups
  *   number of key groups that receive ticks
  * @param output
  *   columns of the exchange format
  */
case class KeyGroupTicks(
    order: Seq[Attribute],
    groups: Int,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  // The order columns are those of the operator. A tick has no order.
  @transient override lazy val references: AttributeSet = AttributeSet.empty
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyGroupTicks =
    copy(child = newChild)
}

/** Emits one tick per key group that receives ticks, in the exchange format, for each row of a
  * clock.
  */
case class KeyGroupTicksExec(
    order: Seq[Attribute],
    groups: Int,
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {
  @transient override lazy val references: AttributeSet = AttributeSet.empty
  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    val (columns, ticked) = (order, groups)
    child.execute().mapPartitionsInternal { ticks =>
      val encoder = new ExchangeEncoder(columns)
      ticks.flatMap(_ => (0 until ticked).iterator.map(encoder.tick))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyGroupTicksExec =
    copy(child = newChild)
}
