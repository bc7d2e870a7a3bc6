package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, Complete}
import org.apache.spark.sql.transom.planned._
import org.apache.spark.sql.types.{LongType, TimestampType}

import transom.engine.spec.WindowSpec

/** Builds plans of window operators without a query. */
object TestPlans {

  /** The event time of a row. */
  val time: Attribute = AttributeReference("time", LongType)()

  def of(
      keys: Seq[Attribute],
      inputs: Seq[Attribute],
      aggregates: Seq[AggregateExpression],
      spec: WindowSpec = TestSpecs.hours,
      layout: StateLayout = SliceLayout): WindowOperatorPlan =
    WindowOperatorPlan(
      operatorSpec = OperatorSpec("window", "{}", Nil),
      spec = spec,
      choice = LayoutChoice(layout, None),
      time = time,
      keys = keys,
      keyFailed = None,
      inputs = inputs,
      row = Nil,
      callColumns = Nil,
      placement = None,
      judgement = None,
      watermarkSource = None,
      substreams = None,
      order = Nil,
      aggregates = aggregates,
      hidden = Nil,
      userExpressions = new UserExpressions(Map.empty, Map.empty),
      output = new OutputColumns(
        keys = keys,
        start = AttributeReference("start", TimestampType)(),
        end = AttributeReference("end", TimestampType)(),
        results = aggregates.map(_.resultAttribute)).schema)

  /** An aggregate in the form that the planner gives it. */
  def aggregate(function: AggregateFunction): AggregateExpression =
    AggregateExpression(function, Complete, isDistinct = false)
}
