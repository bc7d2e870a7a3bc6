package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericRowWithSchema, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.util.LongAccumulator

/** Shows the counts of visits in the progress of a query. Spark's own node would send the
  * expressions of seven sums to each task and back, which takes longer than to count.
  *
  * @param metrics
  *   the sums of the counts, see [[RowCounts.names]]
  */
final class ObservedVisitsExec(name: String, metrics: Seq[NamedExpression], visits: SparkPlan)
    extends CollectMetricsExec(name, metrics, visits) {

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
      .mapPartitionsInternal(_.map { visit =>
        Visit.counts(visit).zip(sums).foreach { case (count, sum) => sum.add(count) }
        visit
      })
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedVisitsExec =
    new ObservedVisitsExec(name, metrics, newChild)
}
