package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericRowWithSchema, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.util.LongAccumulator

/** Shows the counts of key group outputs in the progress of a query. Spark's own node would send
  * the expressions of seven sums to each task and back, which takes longer than to count.
  *
  * @param metrics
  *   the sums of the counts, see [[RowCounts.names]]
  */
final class ObservedOutputCountsExec(
    name: String,
    metrics: Seq[NamedExpression],
    outputs: SparkPlan)
    extends CollectMetricsExec(name, metrics, outputs) {

  // Spark's own class: what comes back from tasks is read where a jar that was added to a session
  // is not seen.
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
