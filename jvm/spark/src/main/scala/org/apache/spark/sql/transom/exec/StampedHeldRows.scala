package org.apache.spark.sql.transom.exec

import org.apache.spark.{HashPartitioner, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.transom.exchange
import org.apache.spark.sql.transom.exchange.{RowStampRecords, RowStamps}
import org.apache.spark.storage.RDDBlockId
import org.apache.spark.util.CompletionIterator

/** Logical node that brings the stamps of a time stage to the rows that its map side holds. */
case class StampedHeldRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): StampedHeldRows =
    copy(child = newChild)
}

/** Brings the stamps of a time stage to the rows that its map side holds.
  *
  * Each task reads the rows that a task of the map side holds, where they lie, and the stamps
  * that the time stage sends to this task. So the rows cross no exchange, and windows combine
  * them in parallel.
  */
case class StampedHeldRowsExec(output: Seq[Attribute], child: SparkPlan) extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val mapSide = child.collectFirst { case mapSide: TimeStageMapSideExec => mapSide }.get
    val (plan, held, operator) = (mapSide.plan, mapSide.held, mapSide.spec.name)
    val (id, splits) = (held.id, held.getNumPartitions)
    val stamps = child
      .execute()
      .mapPartitionsInternal(new RowStampRecords(_, splits))
      .partitionBy(new HashPartitioner(splits))
    val once = held.mapPartitionsWithIndexInternal { (split, chunks) =>
      // The memory is free again after the last row. Spark computes lost rows again.
      CompletionIterator[Array[Byte], Iterator[Array[Byte]]](
        chunks,
        SparkEnv.get.blockManager.removeBlock(RDDBlockId(id, split)))
    }
    once.zipPartitions(stamps) { (chunks, records) =>
      new exchange.StampedHeldRows(plan, new RowStamps(records.map(_._2).toVector), chunks, operator)
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): StampedHeldRowsExec =
    copy(child = newChild)
}
