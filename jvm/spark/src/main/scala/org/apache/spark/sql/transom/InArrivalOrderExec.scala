package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Asks for the exchange and the sort of the stateful operator above it, which would sort by
  * group alone: with more columns behind the group, so that one sort does for both.
  */
case class InArrivalOrderExec(order: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  // The number of partitions is that of the checkpoint, which the operator will ask for too.
  override def requiredChildDistribution: Seq[Distribution] = {
    val partitions = JudgingWatermark
      .runningBatch(session)
      .fold(conf.numShufflePartitions)(_.numStateStores)
    StatefulOpClusteredDistribution(Seq(order.head.child), partitions) :: Nil
  }

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(order)

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): InArrivalOrderExec =
    copy(child = newChild)
}
