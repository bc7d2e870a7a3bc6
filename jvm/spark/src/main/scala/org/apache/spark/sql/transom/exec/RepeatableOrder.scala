package org.apache.spark.sql.transom.exec

import org.apache.spark.{Partition, Partitioner, TaskContext}
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Logical node that sorts the rows of each task, so that a task that reads its rows again gets
  * them in the same order.
  *
  * Not Spark's node, which a stream refuses.
  *
  * @param order
  *   a sort order in which only rows with equal columns are equal
  */
case class RepeatableOrder(order: Seq[SortOrder], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): RepeatableOrder =
    copy(child = newChild)
}

object RepeatableOrder {

  /** The rows of a stream in the order of some columns. Behind a shuffle, ties come in the order
    * of `time`, and then of all columns. Else they come as they are read.
    *
    * Without any order, rows stay as they are read: any other order could contradict their
    * source.
    */
  def of(order: Seq[Attribute], time: Attribute, rows: LogicalPlan): LogicalPlan = {
    val compared = rows.output.filter(column => RowOrdering.isOrderable(column.dataType))
    if (order.isEmpty || !rows.isStreaming || ReplayedOrder.brokenBy(rows).isEmpty) rows
    else {
      // Spark computes the hash only for rows that are equal in the other columns.
      val keys = (order :+ time).distinct :+ new XxHash64(compared)
      RepeatableOrder(keys.map(SortOrder(_, Ascending)), rows)
    }
  }
}

/** Marks sorted rows, so that Spark knows their order.
  *
  * @param child
  *   the sort
  */
case class RepeatableOrderExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def doExecute(): RDD[InternalRow] = new RowsInTotalOrder(child.execute())
  override protected def withNewChildInternal(newChild: SparkPlan): RepeatableOrderExec =
    copy(child = newChild)
}

/** Rows that are sorted so that their order does not depend on the order in which a shuffle is
  * read.
  */
private final class RowsInTotalOrder(rows: RDD[InternalRow]) extends RDD[InternalRow](rows) {
  @transient override val partitioner: Option[Partitioner] = rows.partitioner

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    firstParent[InternalRow].iterator(split, context)

  override protected def getOutputDeterministicLevel: DeterministicLevel.Value =
    if (firstParent[InternalRow].outputDeterministicLevel == DeterministicLevel.INDETERMINATE)
      DeterministicLevel.INDETERMINATE
    else DeterministicLevel.DETERMINATE
}
