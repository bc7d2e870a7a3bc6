package org.apache.spark.sql.transom.exec

import org.apache.spark.{HashPartitioner, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.transom.batch.TaskWatermark
import org.apache.spark.sql.transom.exchange._
import org.apache.spark.storage.RDDBlockId
import org.apache.spark.util.CompletionIterator

/** Logical node that brings the judgements of a time stage to the rows that its map side holds.
  */
case class WithJudgements(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): WithJudgements =
    copy(child = newChild)
}

/** Brings the judgements of a time stage to the rows that its map side holds.
  *
  * Each task reads the rows that a task of the map side holds, where they lie, and the judgements
  * that the time stage sends to this task. So the rows cross no exchange, and windows combine
  * them in parallel.
  */
case class WithJudgementsExec(output: Seq[Attribute], child: SparkPlan) extends ResultRowsExec {

  override def inputRDD: RDD[InternalRow] = {
    val mapSide = child.collectFirst { case mapSide: TimeStageMapSideExec => mapSide }.get
    val (plan, held, operator) = (mapSide.plan, mapSide.held, mapSide.spec.name)
    val (id, splits) = (held.id, held.getNumPartitions)
    val judgements = child
      .execute()
      .mapPartitionsInternal(new JudgementRecords(_, splits, TaskWatermark.of(plan.name)))
      .partitionBy(new HashPartitioner(splits))
    val once = held.mapPartitionsWithIndexInternal { (split, chunks) =>
      // The memory is free again after the last row. Spark computes lost rows again.
      CompletionIterator[Array[Byte], Iterator[Array[Byte]]](
        chunks,
        SparkEnv.get.blockManager.removeBlock(RDDBlockId(id, split)))
    }
    once.zipPartitions(judgements) { (chunks, records) =>
      val read = new HeldJudgements(records.map(_._2).toVector)
      TaskWatermark.of(plan.name).advance = read.advance
      new JudgedHeldRows(plan, read, chunks, operator)
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): WithJudgementsExec =
    copy(child = newChild)
}
