package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.transom.function.{DistinctAggregate, PythonPartials, AccumulatorId}
import org.apache.spark.sql.transom.planned.{Placement, UserExpressions}
import org.apache.spark.sql.types._

/** A windowed aggregation, split into the parts of an operator.
  *
  * @param plan
  *   computes all columns that the operator needs
  * @param time
  *   event time of a row in microseconds, a column of `plan`
  * @param timeType
  *   type of the user's time column, or of the bounds if that column is a window
  * @param placement
  *   column of `plan` that places a row in its windows, if the time is not enough
  * @param order
  *   columns of `plan` that define the order of arrival
  * @param groups
  *   grouping columns of `plan`; equal keys have equal bytes
  * @param keyFailed
  *   column of `plan` that says whether a key of the row failed; none if no key can fail
  * @param inputs
  *   columns of `plan` that the functions and `userExpressions` read
  * @param aggregates
  *   functions of the user's aggregates, and one `First` for each key whose grouping column has
  *   another type
  * @param hidden
  *   functions that only `userExpressions` read
  * @param userExpressions
  *   predicates and distance functions of triggers and evictors, over columns of `plan` and
  *   results of the functions
  * @param keyResults
  *   key columns of the result, computed from `groups` and the results of the functions
  * @param functionResults
  *   results of the functions that the user's aggregates read
  * @param results
  *   aggregate columns of the result, computed from `keyResults` and `functionResults`
  */
final class Aggregation(
    val plan: LogicalPlan,
    val time: Attribute,
    val timeType: DataType,
    val placement: Option[Placement],
    val order: Seq[Attribute],
    val groups: Seq[Attribute],
    val keyFailed: Option[Attribute],
    val inputs: Seq[Attribute],
    val aggregates: Seq[AggregateExpression],
    val hidden: Seq[AggregateExpression],
    val userExpressions: UserExpressions,
    val keyResults: Seq[NamedExpression],
    val functionResults: Seq[Attribute],
    val results: Seq[NamedExpression])

/** Splits a windowed aggregation into the parts of an operator. */
object Aggregation {

  /** Splits analyzed keys and aggregates into the parts of an operator.
    *
    * @param aggregate
    *   the keys and aggregates of `columns`, over rows that have all its columns
    * @param order
    *   columns of the rows that define the order of arrival
    * @param sliceOf
    *   maps a time in microseconds to its slice, if Python accumulators can be computed per key
    *   and slice before the exchange
    */
  def of(
      columns: AnalyzedColumns,
      aggregate: Aggregate,
      order: Seq[Attribute],
      sliceOf: Option[Expression => Expression]): Aggregation = {
    val parted = sliceOf.fold[LogicalPlan](aggregate)(partsOfSlices(columns.time, aggregate, _))
    // The optimizer replaces such expressions in an `Aggregate`, but does not reach them in the
    // operator's own node.
    val PhysicalAggregation(grouping, functions, results, child) =
      ReplaceExpressions(parted): @unchecked
    assemble(
      columns,
      order,
      grouping,
      if (columns.aggregates == 0) Nil else functions,
      results.takeRight(columns.aggregates),
      child)
  }

  /** Computes Python accumulators per key and slice before the rows are shuffled. */
  private def partsOfSlices(
      time: Attribute,
      aggregate: Aggregate,
      sliceOf: Expression => Expression): LogicalPlan = {
    val slice = sliceOf(RowColumns.lastInstant(time))
    val place = AccumulatorId(KeyColumns.identityOf(aggregate.groupingExpressions) :+ slice)
    aggregate.mapExpressions(_.transformDown { case parts: PythonPartials =>
      parts.accumulated(place)
    })
  }

  private def assemble(
      columns: AnalyzedColumns,
      order: Seq[Attribute],
      grouping: Seq[NamedExpression],
      functions: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      child: LogicalPlan): Aggregation = {
    import columns.{keyNames, time, userExpressions}
    val computed = Seq.newBuilder[NamedExpression]
    def column(expression: Expression, name: String): Attribute = expression match {
      case attribute: Attribute => attribute
      case other =>
        val alias = Alias(other, name)()
        computed += alias
        alias.toAttribute
    }

    val keyed = KeyColumns.of(grouping, child)
    import keyed.{columns => keys, failed => keyFailed}
    val groups = keys.map(ComparableKeys.of).zip(keyNames).map { case (g, n) => column(g, n) }
    // A grouping column may have another type than its key. `First` then restores a value of the
    // key.
    val carried = keys.zip(groups).map { case (key, group) =>
      if (group.dataType == key.dataType) None
      else
        Some(AggregateExpression(First(key, ignoreNulls = false), Complete, isDistinct = false))
    }
    val distinct = userExpressions.functions.foldLeft(functions) { (known, f) =>
      if (known.exists(areSame(_, f))) known else known :+ f
    }
    def reading(some: Seq[AggregateExpression]) = some.map(readingColumns(_, column(_, "input")))
    val all = reading(functions ++ carried.flatten)
    val hidden = reading(distinct.drop(functions.length))
    val conditions = userExpressions.conditions.transform { (_, condition) =>
      UserExpressionResolver.checked(overColumns(condition, distinct, column(_, "predicate")))
    }
    val ofColumns = new UserExpressions(conditions, userExpressions.distances)
    val ofFunctions = AttributeSet((all ++ hidden).map(_.resultAttribute))
    val keyResults = groups.zip(carried).zip(keyNames).map { case ((group, first), name) =>
      Alias(first.fold[Expression](group)(_.resultAttribute), name)()
    }
    val byKey = AttributeMap(keys.zip(keyResults.map(_.toAttribute)))
    val micros = Alias(RowColumns.lastInstant(time), time.name)()
    new Aggregation(
      plan = Project(keyed.plan.output ++ computed.result() :+ micros, keyed.plan),
      time = micros.toAttribute,
      timeType = timeType(time.dataType),
      placement = columns.placement,
      order = order,
      groups = groups,
      keyFailed = keyFailed,
      inputs = ((all ++ hidden).flatMap(_.references) ++
        ofColumns.columns.filterNot(ofFunctions.contains)).distinct,
      aggregates = all,
      hidden = hidden,
      userExpressions = ofColumns,
      keyResults = keyResults,
      functionResults = functions.map(_.resultAttribute),
      results = results.map(
        _.transformDown { case a: Attribute => byKey.getOrElse(a, a) }
          .asInstanceOf[NamedExpression]))
  }

  private def areSame(a: AggregateExpression, b: AggregateExpression): Boolean =
    a.resultId == b.resultId || a.semanticEquals(b)

  /** Rewrites a condition so that it reads only results of functions and plain columns.
    *
    * A subexpression that only a plan can compute becomes a column, unless it contains an
    * aggregate.
    */
  private def overColumns(
      condition: Expression,
      functions: Seq[AggregateExpression],
      column: Expression => Attribute): Expression = {
    def plain(e: Expression): Expression = e match {
      case f: AggregateExpression => functions.find(areSame(_, f)).get.resultAttribute
      case part
          if UserExpressionResolver
            .needsPlan(part) && UserExpressions.functionsOf(part).isEmpty =>
        column(part)
      case part => part.mapChildren(plain)
    }
    plain(condition)
  }

  /** Rewrites a function so that it reads only plain columns and constants.
    *
    * Optimizer rules do not reach the functions of an operator. The plan below computes their
    * inputs.
    */
  private def readingColumns(
      aggregate: AggregateExpression,
      column: Expression => Attribute): AggregateExpression = {
    def plain(e: Expression): Expression = e match {
      case order: SortOrder => order.mapChildren(plain)
      case lambda: LambdaFunction => lambda
      case constant if constant.foldable && !constant.containsPattern(CURRENT_LIKE) => constant
      case other => column(other)
    }
    val normalized =
      if (aggregate.isDistinct) aggregate.aggregateFunction.mapChildren(ComparableKeys.normal)
      else aggregate.aggregateFunction
    val function = normalized.mapChildren(plain).asInstanceOf[AggregateFunction]
    val filter = aggregate.filter.map(plain)
    if (aggregate.isDistinct)
      aggregate.copy(
        aggregateFunction = DistinctAggregate(function),
        mode = Complete,
        isDistinct = false,
        filter = filter)
    else aggregate.copy(aggregateFunction = function, mode = Complete, filter = filter)
  }

  /** The type of the bounds of windows over times of a type. */
  private[plan] def timeType(time: DataType): DataType = time match {
    case window: StructType if window.length == 2 && window.map(_.name) == Seq("start", "end") =>
      timeType(window(1).dataType)
    case TimestampType | TimestampNTZType => time
    // Python refuses other types where the user names the column.
    case other => throw new IllegalArgumentException(s"${other.sql} is not a timestamp type")
  }
}
