package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

import transom.engine.{KeyGroups, Watermark}

/** Hands each row of a clock to every key group of a stage, beside its packed rows. */
case class PackedTicks(stage: WindowStage, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): PackedTicks =
    copy(child = newChild)
}

case class PackTicksExec(stage: WindowStage, output: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode {
  override def producedAttributes: AttributeSet = outputSet

  override protected def doExecute(): RDD[InternalRow] = {
    val (order, keyGroups) = (stage.order, stage.keyGroups)
    child.execute().mapPartitionsInternal { ticks =>
      val exchanged = Exchanged.projection(order)
      val columns = new GenericInternalRow(Exchanged.Payload + 1 + order.length)
      columns.update(Exchanged.Kind, Exchanged.Tick)
      columns.update(Exchanged.Place, Long.MaxValue)
      columns.update(Exchanged.LateWatermark, Watermark.NotYet)
      columns.update(Exchanged.Payload, Array.emptyByteArray)
      ticks.flatMap { _ =>
        (0 until keyGroups).iterator.map { group =>
          columns.update(Exchanged.Group, KeyGroups.idOf(group))
          exchanged(columns)
        }
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PackTicksExec =
    copy(child = newChild)
}
