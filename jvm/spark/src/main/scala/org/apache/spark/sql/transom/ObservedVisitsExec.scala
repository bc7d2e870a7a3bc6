package org.apache.spark.sql.transom

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericRowWithSchema, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}
import org.apache.spark.util.AccumulatorV2

/** Shows the counts of visits in the progress of a query. Spark's own node would send the
  * expressions of seven sums to each task and back, which takes longer than to count.
  *
  * @param metrics
  *   the sums of the counts, see [[RowCounts.names]]
  */
final class ObservedVisitsExec(name: String, metrics: Seq[NamedExpression], visits: SparkPlan)
    extends CollectMetricsExec(name, metrics, visits) {

  private lazy val counted = {
    val sums = new CountedVisits
    sums.register(sparkContext)
    sums
  }

  override def collectedMetrics: Row =
    new GenericRowWithSchema(counted.value.toArray[Any], metricsSchema)

  override def resetMetrics(): Unit = {
    counted.reset()
    child.resetMetrics()
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val sums = counted
    child
      .execute()
      .mapPartitionsInternal(_.map { visit =>
        sums.add(visit)
        visit
      })
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedVisitsExec =
    new ObservedVisitsExec(name, metrics, newChild)
}

/** The sums of the counts of visits, in the order of [[RowCounts.names]]. */
final class CountedVisits extends AccumulatorV2[InternalRow, Seq[Long]] {
  private val sums = new Array[Long](RowCounts.names.length)

  override def value: Seq[Long] = sums.toSeq
  override def isZero: Boolean = sums.forall(_ == 0L)
  override def reset(): Unit = java.util.Arrays.fill(sums, 0L)

  override def copy(): CountedVisits = {
    val copied = new CountedVisits
    copied.merge(this)
    copied
  }

  /** Takes a visit, which may have no counts. */
  override def add(visit: InternalRow): Unit =
    if (!visit.isNullAt(0)) {
      val counts = visit.getStruct(0, sums.length)
      sums.indices.foreach(i => sums(i) += counts.getLong(i))
    }

  override def merge(other: AccumulatorV2[InternalRow, Seq[Long]]): Unit =
    other.value.zipWithIndex.foreach { case (sum, i) => sums(i) += sum }
}
