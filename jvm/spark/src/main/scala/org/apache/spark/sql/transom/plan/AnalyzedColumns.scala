package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.transom.planned.{OperatorSpec, Placement, UserExpressions}

import transom.engine.spec.WindowSpec

/** The user's columns, resolved by Spark's analyzer once for each window operator. The record in
  * the checkpoint and the plan of the operator are both built from these columns.
  *
  * @param time
  *   the event time of a row
  * @param placement
  *   the column that places a row in its windows, if the time is not enough
  * @param policy
  *   the columns that a time policy reads, if there is one
  * @param order
  *   the columns that define the order of arrival
  * @param keyNames
  *   the names of the keys
  * @param aggregates
  *   the number of the user's aggregates
  * @param userExpressions
  *   predicates and distance functions of triggers and evictors
  * @param byIndex
  *   each column of the message as an expression over the input, by index
  * @param hiding
  *   keys and aggregates, over rows that hide `time`, `placement` and `order`
  */
final class AnalyzedColumns(
    val time: Attribute,
    val placement: Option[Placement],
    val policy: Option[PolicyColumns],
    val order: Seq[Attribute],
    val keyNames: Seq[String],
    val aggregates: Int,
    val userExpressions: UserExpressions,
    val byIndex: Map[Int, Expression],
    val hiding: Aggregate) {

  /** The functions of the user's aggregates, before any function is replaced. */
  def functions: Seq[AggregateFunction] =
    hiding.aggregateExpressions
      .takeRight(aggregates)
      .flatMap(UserExpressions.functionsOf)
      .map(_.aggregateFunction)

  /** Keys and aggregates over rows that show all columns.
    *
    * @param change
    *   maps the plan of the rows to a plan with the same columns
    */
  def aggregate(change: LogicalPlan => LogicalPlan): Aggregate =
    hiding.copy(child = revealed(hiding.child, change))

  // The analyzer may put nodes between an aggregate and its rows, for example to compute windows.
  // The hidden columns pass through these nodes.
  private def revealed(plan: LogicalPlan, change: LogicalPlan => LogicalPlan): LogicalPlan = {
    val hidden = (time +: order) ++ placement.map(_.column) ++ policy.toSeq.flatMap(_.sources)
    plan match {
      case Hiding(_, rows) => change(rows)
      case Project(list, child) => Project(list ++ hidden, revealed(child, change))
      case Expand(projections, output, child) =>
        Expand(projections.map(_ ++ hidden), output ++ hidden, revealed(child, change))
      case other => other.mapChildren(revealed(_, change))
    }
  }
}

/** Resolves the columns of a message. */
object AnalyzedColumns {

  def of(input: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): AnalyzedColumns = {
    val windowIndex = spec.window.placementColumn.map(_.index)
    val aggregates = spec.function.aggregateColumns
    val userExpressions = UserExpressionResolver.of(input, spec, columns)

    // The aggregate below resolves the keys again, under aliases. Only `select` gives unnamed
    // expressions the names that Spark gives them.
    val keys = analyzed(input.select(spec.keyColumns.map(columns): _*))
    val policy = spec.policy
    val added = RowColumns.time(spec.time, columns) +:
      (windowIndex.map(RowColumns.window(_, columns)).toSeq ++
        spec.lifetime.map(RowColumns.end(_, columns)) ++
        spec.lifetime.toSeq.flatMap(RowColumns.ids(_, columns)) ++
        RowColumns.order(spec.orderColumns, columns) ++
        policy.toSeq.flatMap(RowColumns.policy(_, columns)))
    val selected = analyzed(input.select(col("*") +: added.map(_._2): _*))
    val rows = RowColumns.guarded(selected, spec.lifetime, policy)
    val ofRows = rows.output.drop(input.columns.length)
    val visible = Dataset.ofRows(input.sparkSession, Hiding(ofRows, rows))
    val aggregate =
      AnalyzedAggregate.of(visible, spec.keyColumns.map(columns), aggregates.map(columns))

    val overInput = new OverInput(input)
    val ofRowsOverInput = overInput.outputOf(selected).takeRight(ofRows.length)
    new AnalyzedColumns(
      time = ofRows.head,
      placement = RowColumns.placingIn(ofRows).flatMap(Placement.of(spec, _)),
      policy = policy.map(RowColumns.policyIn(ofRows, _, selected)),
      order = RowColumns.orderIn(ofRows),
      keyNames = keys.output.map(_.name),
      aggregates = aggregates.length,
      userExpressions = userExpressions,
      byIndex = userExpressions.byIndex ++
        spec.keyColumns.zip(overInput.outputOf(keys)) ++
        RowColumns.byIndex(added, ofRowsOverInput) ++
        aggregates.zip(overInput.outputOf(aggregate).takeRight(aggregates.length)),
      hiding = aggregate)
  }

  private def analyzed(df: Dataset[Row]): LogicalPlan = df.queryExecution.analyzed
}

/** Logical node that hides columns: names and stars in the nodes above do not find them. Only the
  * analyzer sees the node, because `AnalyzedColumns.aggregate` removes it.
  */
case class Hiding(columns: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = {
    val hidden = AttributeSet(columns)
    child.output.filterNot(hidden.contains)
  }
  override protected def withNewChildInternal(newChild: LogicalPlan): Hiding =
    copy(child = newChild)
}

/** Expresses columns of plans over the columns of `input`. */
private final class OverInput(input: Dataset[Row]) {
  private val known =
    AttributeSet(input.queryExecution.analyzed.output.filterNot(OperatorSpec.isHidden))

  /** The output columns of a plan. Each reference to an alias is replaced by the expression of
    * the alias, which may be in any node of the plan.
    */
  def outputOf(plan: LogicalPlan): Seq[Expression] = {
    val byColumn = AttributeMap(plan.flatMap(_.expressions).flatMap {
      case alias: Alias if !known.contains(alias.toAttribute) =>
        Some(alias.toAttribute -> alias.child)
      case _ => None
    })
    def overInput(e: Expression): Expression =
      e.transformUp { case a: Attribute => byColumn.get(a).fold[Expression](a)(overInput) }
    plan.output.map(overInput)
  }
}
