package org.apache.spark.sql.transom.exec

import scala.collection.AbstractIterator

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.transom.exchange.ExchangeFormat
import org.apache.spark.sql.transom.task.KeyGroupTasks

import transom.engine.state.MemoryState

/** Logical node of an operator over a static DataFrame. All windows fire when the input ends. */
case class StaticOperator(tasks: KeyGroupTasks, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): StaticOperator =
    copy(child = newChild)
}

/** Operator of a static DataFrame. Runs the engine on state in memory, one key group after the
  * other. Event time ends after the last row of a group, so all windows fire.
  *
  * Spark's batch plan for stateful processors does not support event time.
  */
case class StaticOperatorExec(tasks: KeyGroupTasks, output: Seq[Attribute], child: SparkPlan)
    extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val (create, nowMs) = (tasks, System.currentTimeMillis())
    child.execute().mapPartitionsInternal { rows =>
      val task = create.create()
      val left = rows.buffered
      Iterator.continually(left).takeWhile(_.hasNext).flatMap { left =>
        val group = left.head.getInt(ExchangeFormat.Group)
        val ofGroup = new AbstractIterator[InternalRow] {
          override def hasNext: Boolean =
            left.hasNext && left.head.getInt(ExchangeFormat.Group) == group
          override def next(): InternalRow = left.next()
        }
        val operator = task.open(group, task.storeOf(new MemoryState), nowMs)
        operator.process(task.inputs(ofGroup, Long.MaxValue))
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StaticOperatorExec =
    copy(child = newChild)
}
