package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{col, max}
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.transom.exec._
import org.apache.spark.sql.transom.task.{KeyGroupProcessor, KeyGroupTasks, RowEncoders}

/** Builds the plan of an operator above its map side: the exchange, the operator, its output
  * rows.
  */
private object OperatorPlans {
  private final val Metrics = "metrics"

  /** An operator of a stream, with its state in Spark's state store.
    *
    * @param tasks
    *   what runs in the tasks behind the exchange
    * @param order
    *   sort order of the exchange rows; the key group comes first
    * @param rows
    *   exchange rows
    * @param output
    *   the columns that the tasks emit
    * @param operatorId
    *   identifies the operator within its query
    * @param observedAs
    *   the name under which the progress of the query shows the metrics, if it does
    */
  def streaming(
      session: SparkSession,
      tasks: KeyGroupTasks,
      order: Seq[SortOrder],
      rows: LogicalPlan,
      output: Seq[Attribute],
      operatorId: String,
      observedAs: Option[String]): LogicalPlan = {
    val group = rows.output.head
    val operator = new TransformWithState(
      keyDeserializer = group,
      valueDeserializer = RowObject(),
      groupingAttributes = Seq(group),
      dataAttributes = rows.output,
      statefulProcessor = KeyGroupProcessor.of(tasks),
      timeMode = TimeMode.EventTime(),
      outputMode = OutputMode.Append(),
      keyEncoder = RowEncoders.group.asInstanceOf[ExpressionEncoder[Any]],
      outputObjAttr = AttributeReference("row", RowObject.dataType, nullable = false)(),
      child = ByKeyGroup(order, rows),
      hasInitialState = false,
      initialStateGroupingAttrs = Seq(group),
      initialStateDataAttrs = rows.output,
      initialStateDeserializer = RowObject(),
      initialState = LocalRelation(rows.output.map(_.newInstance())))
    val metrics = AttributeReference(Metrics, OperatorMetrics.schema)()
    val outputs = KeyGroupOutputs(operatorId, new OpenWindowGauge, Seq(metrics), operator)
    OutputRows(output, observedAs.fold[LogicalPlan](outputs)(observed(session, outputs, _)))
  }

  private def observed(
      session: SparkSession,
      outputs: KeyGroupOutputs,
      name: String): LogicalPlan = {
    // Spark checks the expressions and takes the names and types from them, but
    // `ObservedMetricsExec` replaces their evaluation.
    val metrics = OperatorMetrics.schema.fieldNames.toSeq
      .map(metric => max(col(s"$Metrics.$metric")).as(s"transom_$metric"))
    Dataset
      .ofRows(session, outputs)
      .observe(name, metrics.head, metrics.tail: _*)
      .queryExecution
      .analyzed
  }

  /** An operator of a static DataFrame, with its state in memory. */
  def static(
      tasks: KeyGroupTasks,
      order: Seq[SortOrder],
      rows: LogicalPlan,
      output: Seq[Attribute]): LogicalPlan = {
    val byGroup = RepartitionByExpression(Seq(rows.output.head), rows, optNumPartitions = None)
    StaticOperator(tasks, output, Sort(order, global = false, byGroup))
  }
}
