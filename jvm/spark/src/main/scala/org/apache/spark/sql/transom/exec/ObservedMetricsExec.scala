package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericRowWithSchema, NamedExpression}
import org.apache.spark.sql.execution.{CollectMetricsExec, SparkPlan}

/** Adds the metrics of an operator to the progress of the query.
  *
  * Replaces Spark's own node, which sends the expressions of all metrics to each task and back.
  * This transfer takes longer than counting. The node below has the metrics already.
  *
  * @param metrics
  *   the metrics, see [[OperatorMetrics.schema]]
  */
final class ObservedMetricsExec(name: String, metrics: Seq[NamedExpression], outputs: SparkPlan)
    extends CollectMetricsExec(name, metrics, outputs) {

  override def collectedMetrics: Row = {
    val own = outputsIn(child).head
    val stage = outputsIn(own.child).find(_.operatorId == own.operatorId)
    new GenericRowWithSchema(OperatorMetrics.of(own, stage).toArray, metricsSchema)
  }

  private def outputsIn(plan: SparkPlan): Seq[KeyGroupOutputsExec] =
    plan.collect { case node: KeyGroupOutputsExec => node }

  override def resetMetrics(): Unit = child.resetMetrics()

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): ObservedMetricsExec =
    new ObservedMetricsExec(name, metrics, newChild)
}
