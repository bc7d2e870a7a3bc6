package org.apache.spark.sql.transom.sql

import org.apache.spark.sql.catalyst.analysis.UnresolvedAlias
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.transom.plan.WindowPlanner
import org.apache.spark.sql.transom.planned.WindowType
import org.apache.spark.sql.transom.task.KeyedResults
import org.apache.spark.sql.types._

import transom.engine.spec.WindowSpec
import transom.engine.window.Windows

/** Gives an aggregation with a window in `GROUP BY` the columns of the window's results, so that
  * the select list, `HAVING` and `ORDER BY` find them by name.
  */
final class ResolveWindows(session: SparkSession) extends Rule[LogicalPlan] {
  import WindowRules._
  WindowPlanner.register(session)

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case aggregate: Aggregate
        if aggregate.child.resolved && aggregate.groupingExpressions.exists(hasWindow) =>
      val groups = aggregate.groupingExpressions.map(withoutAlias)
      val calls = groups.flatMap(windowsIn)
      if (!calls.forall(_.resolved)) aggregate
      else withColumns(aggregate, groups, windowOf(groups, calls))
  }

  /** The only window of an aggregation. */
  private def windowOf(groups: Seq[Expression], calls: Seq[ValueCall]): ValueCall = {
    calls.find(!groups.contains(_)).foreach { call =>
      misplaced(
        call,
        "inside of another expression of GROUP BY",
        "Write it alone, separated by a comma from the other columns")
    }
    calls.drop(1).headOption.foreach { second =>
      misplaced(
        second,
        s"next to ${calls.head.prettyName}()",
        "Use one window, or transom_windows() for several windows over the same rows")
    }
    calls.head
  }

  private def withColumns(
      aggregate: Aggregate,
      groups: Seq[Expression],
      call: ValueCall): LogicalPlan = {
    val child = aggregate.child
    val message = new WindowMessage(call, Nil, Nil, child.isStreaming)
    val hiding = call
      .transform { case shown: AggregateExpression => HiddenAggregate(shown) }
      .asInstanceOf[ValueCall]
    val columns = columnsOf(message).map { case (name, kind) =>
      Alias(ResultColumn(hiding, name, kind), name)()
    }
    val window = columns.head.toAttribute
    val keys = groups.filterNot(_ eq call)
    val own = columns.map(_.name)
    // In the select list these names mean the columns of the result. A column of the rows with
    // such a name is no key, so it could only stand there by mistake.
    val shadowed = child.output.filter(column =>
      own.exists(session.sessionState.conf.resolver(_, column.name)) &&
        !keys.exists(_.references.contains(column)))
    val meant = AttributeMap(
      shadowed.flatMap(column =>
        columns
          .find(c => session.sessionState.conf.resolver(c.name, column.name))
          .map(column -> _.toAttribute)))
    def changed(e: Expression): Expression = e match {
      case same: ValueCall if same.semanticEquals(call) => window
      case aggregated: AggregateExpression => aggregated
      case column: AttributeReference => meant.getOrElse(column, column)
      case other => other.mapChildren(changed)
    }
    aggregate.copy(
      groupingExpressions = keys ++ columns.map(_.toAttribute),
      aggregateExpressions = aggregate.aggregateExpressions.map { result =>
        changed(result) match {
          case UnresolvedAlias(column: Attribute, _) => column
          case named: NamedExpression => named
          case other => Alias(other, toPrettySQL(result))()
        }
      },
      child = Project(child.output ++ columns, child))
  }

  /** The names and types of the columns that describe a result. */
  private def columnsOf(message: WindowMessage): Seq[(String, DataType)] = {
    val spec: WindowSpec = message.spec
    val bounds = WindowType.of(message.timeType)
    Seq("window" -> bounds) ++
      Option.when(spec.window.isInstanceOf[Windows])("window_id" -> StringType) ++
      Option.when(spec.pane)("pane" -> KeyedResults.paneType) ++
      Option.when(spec.outputPolicy.isDefined)("lifetime" -> bounds) ++
      Option.when(spec.retract)("change" -> StringType)
  }
}

/** Replaces aggregations with windows by the plans of window operators. */
final class ReplaceWindows(session: SparkSession) extends Rule[LogicalPlan] {
  import WindowRules._

  override def apply(plan: LogicalPlan): LogicalPlan = {
    // A window operator is planned over its input, which must not refer to the plan around.
    val result = if (plan.exists(isWindowed)) replaced(inlined(plan)) else plan
    // Spark's check tells what is wrong with an aggregation that was not replaced.
    result.foreach(node => if (!isWindowed(node)) refuseCalls(node))
    result
  }

  /** The plan with operators in place of aggregations. The columns of an operator have metadata,
    * such as the name of their watermark, so the nodes above refer to them anew.
    */
  private def replaced(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(isWindowed)) plan
    else {
      val over = plan.mapChildren(replaced)
      val known = AttributeMap(
        over.children.filter(_.resolved).flatMap(_.output).map(a => a -> a))
      val node = over.mapExpressions(_.transform { case column: AttributeReference =>
        known.get(column).fold(column) { now =>
          column.withMetadata(now.metadata).asInstanceOf[AttributeReference]
        }
      })
      node match {
        case aggregate @ Aggregate(_, _, rows @ Project(columns, _), _)
            if aggregate.resolved && columns.exists(resultColumn(_).isDefined) =>
          operatorOf(aggregate, rows)
        case other => other
      }
    }

  private def inlined(plan: LogicalPlan): LogicalPlan =
    if (plan.containsPattern(CTE)) InlineCTE()(plan) else plan

  private def operatorOf(aggregate: Aggregate, rows: Project): LogicalPlan = {
    val own = rows.projectList.filter(resultColumn(_).isDefined)
    val isOwn = AttributeSet(own.map(_.toAttribute))
    val call = own
      .flatMap(resultColumn)
      .head
      .call
      .transform { case HiddenAggregate(hidden) => hidden }
      .asInstanceOf[ValueCall]
    val keys = aggregate.groupingExpressions.filterNot {
      case column: Attribute => isOwn.contains(column)
      case _ => false
    }
    val results = aggregate.aggregateExpressions
    val aggregates =
      results.flatMap(_.collect { case a: AggregateExpression => a.canonicalized }).distinct
    // An operator computes at least one aggregate.
    val computed =
      if (aggregates.isEmpty) Seq(Count(Literal(1)).toAggregateExpression())
      else
        aggregates.map(same =>
          results
            .flatMap(_.collect { case a: AggregateExpression => a })
            .find(_.canonicalized == same)
            .get)
    val message = new WindowMessage(call, keys, computed, rows.child.isStreaming)
    val columns = message.columns.zipWithIndex.map { case (column, i) =>
      val first = message.columns.length - computed.length
      ExpressionUtils.column(column match {
        case distance: Distance => WindowMessage.distanceOver(distance)
        case key if i < keys.length => Alias(key, s"key_$i")()
        case value if i >= first => Alias(value, s"value_${i - first}")()
        case other => other
      })
    }
    val input = Dataset.ofRows(session, rows.child)
    val operator = WindowPlanner.plan(input, message.spec, columns).queryExecution.analyzed
    val output = operator.output
    val ofOwn = own.map(_.toAttribute).zip(output.slice(keys.length, keys.length + own.length))
    val values = output.drop(keys.length + own.length)
    val byColumn = AttributeMap(ofOwn)
    def over(e: Expression): Expression = e match {
      case a: AggregateExpression => values(computed.indexWhere(_.semanticEquals(a)))
      case column: AttributeReference if byColumn.contains(column) => byColumn(column)
      case key if keys.exists(_.semanticEquals(key)) =>
        output(keys.indexWhere(_.semanticEquals(key)))
      case other => other.mapChildren(over)
    }
    val list = results.map { result =>
      over(result) match {
        case alias: Alias => Alias(alias.child, alias.name)(result.exprId, result.qualifier)
        case other => Alias(other, result.name)(result.exprId, result.qualifier)
      }
    }
    val selected = Project(list, operator)
    // A column that is no key: Spark has an error for it.
    if (selected.missingInput.isEmpty) selected else aggregate
  }
}

/** Refuses windows that are left after Spark's own checks. */
object CheckWindows extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach(WindowRules.refuseCalls)
}

/** What the rules know about plans. */
private object WindowRules {

  def withoutAlias(e: Expression): Expression = e match {
    case Alias(child, _) => child
    case other => other
  }

  /** The calls of an expression, the outermost first. */
  def callsIn(e: Expression): Seq[ValueCall] = e.collect { case call: ValueCall => call }

  /** The outermost windows of an expression. */
  def windowsIn(e: Expression): Seq[ValueCall] = e match {
    case call: ValueCall => if (call.function.isWindow) Seq(call) else Nil
    case other => other.children.flatMap(windowsIn)
  }

  def hasWindow(e: Expression): Boolean = windowsIn(e).nonEmpty

  def resultColumn(column: NamedExpression): Option[ResultColumn] = column match {
    case Alias(result: ResultColumn, _) => Some(result)
    case _ => None
  }

  def isWindowed(plan: LogicalPlan): Boolean = plan match {
    case Project(columns, _) => columns.exists(resultColumn(_).isDefined)
    case _ => false
  }

  def misplaced(call: ValueCall, where: String, fix: String): Nothing =
    WindowMessage.refuse(
      "NOT_IN_GROUP_BY",
      call.origin,
      "function" -> call.prettyName,
      "where" -> where,
      "fix" -> fix)

  /** Refuses the calls of a node. Spark's check tells what is wrong with their arguments. */
  def refuseCalls(node: LogicalPlan): Unit =
    node.expressions.filter(_.resolved).flatMap(callsIn).foreach(refuse)

  /** The error for a call that no aggregation has taken. */
  private def refuse(call: ValueCall): Nothing =
    if (call.function.isWindow)
      misplaced(
        call,
        "where it has no meaning, such as in a select list, in ROLLUP, or below DISTINCT",
        s"Write it in GROUP BY, as in ${call.function.example}")
    else
      misplaced(
        call,
        "outside of the arguments of a window",
        s"Write it as in ${call.function.example}")
}
