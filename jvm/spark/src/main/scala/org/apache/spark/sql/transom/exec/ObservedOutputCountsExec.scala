package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericRowWithSchema, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.sql.transom.task.KeyGroupOutput
import org.apache.spark.util.LongAccumulator

import transom.engine.operator.RowCounts

/** Adds the row counts of key group outputs to the progress of the query.
  *
  * Replaces Spark's own node, which sends the expressions of all sums to each task and back. This
  * transfer takes longer than counting.
  *
  * @param metrics
  *   the sums of the counts, see [[RowCounts.names]]
  */
final class ObservedOutputCountsExec(
    name: String,
    metrics: Seq[NamedExpression],
    outputs: SparkPlan)
    extends CollectMetricsExec(name, metrics, outputs) {

  // The driver reads task results with a class loader that does not see jars added to a session.
  // The accumulator must therefore be of a class of Spark.
  private lazy val counted = RowCounts.names.map { _ =>
    val sum = new LongAccumulator
    sum.register(sparkContext)
    sum
  }

  override def collectedMetrics: Row =
    new GenericRowWithSchema(counted.map(_.sum).toArray[Any], metricsSchema)

  override def resetMetrics(): Unit = {
    counted.foreach(_.reset())
    child.resetMetrics()
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val sums = counted
    child
      .execute()
      .mapPartitionsInternal(_.map { groupOutput =>
        KeyGroupOutput.counts(groupOutput).zip(sums).foreach { case (count, sum) =>
          sum.add(count)
        }
        groupOutput
      })
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedOutputCountsExec =
    new ObservedOutputCountsExec(name, metrics, newChild)
}
