package org.apache.spark.sql.transom

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

import transom.spark.TransomException

/** A windowed aggregation as Spark's analyzer understands it, taken apart for the stage.
  *
  * @param plan
  *   yields all columns that the stage needs
  * @param time
  *   the row's time as microseconds, a column of `plan`
  * @param groups
  *   columns of `plan` to group by: comparable by their bytes
  * @param inputs
  *   columns of `plan` that the functions read
  * @param keyResults
  *   the key columns of the result, in terms of `groups` and the functions' results
  * @param results
  *   the aggregate columns of the result, likewise
  */
final case class Aggregation(
    plan: LogicalPlan,
    time: Attribute,
    timeType: DataType,
    groups: Seq[Attribute],
    inputs: Seq[Attribute],
    aggregates: Seq[AggregateExpression],
    keyResults: Seq[NamedExpression],
    results: Seq[NamedExpression])

object Aggregation {
  private val KeyPrefix = "__transom_key_"
  private val TimeName = "__transom_time"

  def resolve(
      df: Dataset[Row],
      keys: Seq[Column],
      time: Column,
      aggregates: Seq[Column]): Aggregation = {
    val keyNames = df.select(keys: _*).columns.toSeq
    val named = keys.zipWithIndex.map { case (key, i) => key.as(KeyPrefix + i) }
    val prepared = df.select((col("*") +: named) :+ time.as(TimeName): _*)
    val grouped = prepared
      .groupBy(named.indices.map(i => col(KeyPrefix + i)): _*)
      .agg(aggregates.head, aggregates.tail: _*)
    val analyzed = grouped.queryExecution.analyzed
    refuseUnsupported(analyzed)
    // Spark's optimizer would do this to an aggregate, and cannot to a node of ours.
    ReplaceExpressions(analyzed) match {
      case PhysicalAggregation(grouping, functions, results, child) =>
        val retained = if (results.length > aggregates.length) keys.length else 0
        assemble(grouping, keyNames, functions, results.drop(retained), child)
      case _ => throw new TransomException("TRANSOM_NO_AGGREGATE", Map.empty[String, String])
    }
  }

  private def assemble(
      grouping: Seq[NamedExpression],
      keyNames: Seq[String],
      functions: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      child: LogicalPlan): Aggregation = {
    val computed = Seq.newBuilder[NamedExpression]
    def column(expression: Expression, name: String): Attribute = expression match {
      case attribute: Attribute => attribute
      case other =>
        val alias = Alias(other, name)()
        computed += alias
        alias.toAttribute
    }

    val groups = grouping.map(g => comparable(g.toAttribute)).zip(keyNames).map { case (g, n) =>
      column(g, n)
    }
    // A key that is grouped by something else than itself comes back as one of its values.
    val carried = grouping.zip(groups).map { case (key, group) =>
      if (group.dataType == key.dataType) None
      else
        Some(
          AggregateExpression(
            First(key.toAttribute, ignoreNulls = false),
            Complete,
            isDistinct = false))
    }
    val all = (functions ++ carried.flatten).map(readingColumns(_, column(_, "input")))
    val keyResults = groups.zip(carried).zip(keyNames).map { case ((group, first), name) =>
      Alias(first.fold[Expression](group)(_.resultAttribute), name)()
    }
    val byKey = AttributeMap(grouping.map(_.toAttribute).zip(keyResults.map(_.child)))
    val time = child.output.find(_.name == TimeName).get
    val micros = Alias(lastInstant(time), TimeName)()
    Aggregation(
      plan = Project(child.output ++ computed.result() :+ micros, child),
      time = micros.toAttribute,
      timeType = timeType(time.dataType),
      groups = groups,
      inputs = all.flatMap(_.references).distinct,
      aggregates = all,
      keyResults = keyResults,
      results = results.map(
        _.transform { case a: Attribute => byKey.getOrElse(a, a) }
          .asInstanceOf[NamedExpression]))
  }

  /** An expression equal where Spark's grouping finds the key equal, and then equal in its bytes.
    */
  private def comparable(key: Attribute): Expression =
    CollationKey.injectCollationKey(NormalizeFloatingNumbers.normalize(mapsSorted(key)))

  /** The entries of maps, at any depth, in order of their keys. */
  private def mapsSorted(e: Expression): Expression = e.dataType match {
    case plain if !plain.existsRecursively(_.isInstanceOf[MapType]) => e
    case map: MapType =>
      val hasMaps = map.valueType.existsRecursively(_.isInstanceOf[MapType])
      MapSort(if (hasMaps) MapFromArrays(MapKeys(e), mapsSorted(MapValues(e))) else e)
    case StructType(fields) =>
      val sorted = CreateNamedStruct(fields.toSeq.zipWithIndex.flatMap { case (field, i) =>
        Seq(Literal(field.name), mapsSorted(GetStructField(e, i, Some(field.name))))
      })
      If(IsNull(e), Literal(null, sorted.dataType), sorted)
    case ArrayType(element, containsNull) =>
      val each = NamedLambdaVariable("element", element, containsNull)
      ArrayTransform(e, LambdaFunction(mapsSorted(each), Seq(each)))
    case _ => e
  }

  /** The same function over plain columns, so that it survives where no optimizer rule looks. */
  private def readingColumns(
      aggregate: AggregateExpression,
      column: Expression => Attribute): AggregateExpression = {
    def plain(e: Expression): Expression = e match {
      case order: SortOrder => order.mapChildren(plain)
      case constant if constant.foldable && !constant.containsPattern(CURRENT_LIKE) => constant
      case other => column(other)
    }
    val normalized =
      if (aggregate.isDistinct)
        aggregate.aggregateFunction.mapChildren(NormalizeFloatingNumbers.normalize)
      else aggregate.aggregateFunction
    val function = normalized.mapChildren(plain).asInstanceOf[AggregateFunction]
    val filter = aggregate.filter.map(plain)
    if (aggregate.isDistinct)
      aggregate.copy(
        aggregateFunction = DistinctFold(function),
        mode = Complete,
        isDistinct = false,
        filter = filter)
    else aggregate.copy(aggregateFunction = function, mode = Complete, filter = filter)
  }

  /** Microseconds; of a window its last instant, at which `window_time` stands (features 72). */
  private def lastInstant(time: Attribute): Expression = time.dataType match {
    case window: StructType =>
      val end = GetStructField(time, 1)
      Subtract(PreciseTimestampConversion(end, window(1).dataType, LongType), Literal(1L))
    case instant => PreciseTimestampConversion(time, instant, LongType)
  }

  private def timeType(time: DataType): DataType = time match {
    case window: StructType if window.length == 2 && window.map(_.name) == Seq("start", "end") =>
      timeType(window(1).dataType)
    case TimestampType | TimestampNTZType => time
    case other =>
      throw new TransomException("TRANSOM_NOT_A_TIMESTAMP", Map("type" -> other.sql))
  }

  private def refuseUnsupported(plan: LogicalPlan): Unit = plan.expressions.foreach(_.foreach {
    case e: AggregateExpression
        if !e.aggregateFunction.isInstanceOf[DeclarativeAggregate] &&
          !e.aggregateFunction.isInstanceOf[ImperativeAggregate] && !isReplaced(
            e.aggregateFunction) =>
      throw unsupported(e, "it cannot be computed in parts that are merged")
    case e: PythonUDAF =>
      throw unsupported(e, "a Python function over whole groups has no partial result")
    case _ =>
  })

  private def isReplaced(function: AggregateFunction): Boolean =
    function.isInstanceOf[RuntimeReplaceable]

  private def unsupported(e: Expression, why: String): TransomException =
    new TransomException("TRANSOM_AGGREGATE_UNSUPPORTED", Map("aggregate" -> e.sql, "why" -> why))
}
