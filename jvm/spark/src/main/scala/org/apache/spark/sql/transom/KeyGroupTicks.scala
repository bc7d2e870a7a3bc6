package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

import transom.engine.state.KeyGroups
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

/** Emits one tick per key group, in the exchange format, for each row of a clock.
  *
  * A tick has the last position in the order of arrival, and no late watermark.
  */
case class KeyGroupTicksExec(
    operatorPlan: WindowOperatorPlan,
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    val (order, keyGroups) = (operatorPlan.order, operatorPlan.keyGroups)
    child.execute().mapPartitionsInternal { ticks =>
      val toExchangeRow = ExchangeFormat.projection(order)
      val columns = new GenericInternalRow(ExchangeFormat.Payload + 1 + order.length)
      columns.update(ExchangeFormat.Kind, ExchangeFormat.Tick)
      columns.update(ExchangeFormat.Position, Long.MaxValue)
      columns.update(ExchangeFormat.LateWatermark, Watermark.NotYet)
      columns.update(ExchangeFormat.Payload, Array.emptyByteArray)
      ticks.flatMap { _ =>
        (0 until keyGroups).iterator.map { group =>
          columns.update(ExchangeFormat.Group, KeyGroups.idOf(group))
          toExchangeRow(columns)
        }
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyGroupTicksExec =
    copy(child = newChild)
}
