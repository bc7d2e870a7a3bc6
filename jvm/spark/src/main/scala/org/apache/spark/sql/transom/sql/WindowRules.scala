package org.apache.spark.sql.transom.sql

import java.util.Locale

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAlias, UnresolvedTableValuedFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Count}
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.CurrentOrigin
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.{Dataset, ExpressionUtils, SparkSession}
import org.apache.spark.sql.transom.plan.{StampOf, StampedPlanner, WindowPlanner}
import org.apache.spark.sql.transom.planned.WindowType
import org.apache.spark.sql.transom.task.{KeyedResults, SideOutputRows}
import org.apache.spark.sql.types._

import transom.engine.spec.{LateRows, WindowSpec}
import transom.engine.window.{Count => CountWindows, Global, Windows}

/** A table function over the rows of a table or a query.
  *
  * @param call
  *   the function with its other arguments
  * @param output
  *   the columns of the result; empty before the rule that knows them
  */
final case class TableCall(call: ValueCall, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override lazy val resolved: Boolean = childrenResolved && call.resolved && output.nonEmpty
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: LogicalPlan): TableCall =
    copy(child = newChild)
}

object TableCall {

  /** The error for a call without a table. */
  def withoutTable(function: SqlFunction, arguments: Seq[Expression]): LogicalPlan = {
    val call = ValueCall(function, arguments)
    SqlMessage.refuse(
      "MISSING_ARGUMENT",
      call.origin,
      "owner" -> call.prettyName,
      "argument" -> "a table",
      "instead" -> SqlMessage.exampleOf(function))
  }
}

/** Makes a node of each call of a table function, with its table below. So Spark resolves the
  * other arguments by the columns of this table.
  */
object ReadTables extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call @ UnresolvedTableValuedFunction(Seq(name), arguments, _)
        if SqlFunctions.all.get(name.toLowerCase(Locale.ROOT)).exists(_.isTable) =>
      val function = SqlFunctions.all(name.toLowerCase(Locale.ROOT))
      val (tables, others) =
        arguments.partition(_.isInstanceOf[FunctionTableSubqueryArgumentExpression])
      CurrentOrigin.withOrigin(call.origin) {
        tables match {
          case Seq(table: FunctionTableSubqueryArgumentExpression) if !table.hasRepartitioning =>
            TableCall(ValueCall(function, others), Nil, table.plan)
          case _ => TableCall.withoutTable(function, others)
        }
      }
  }
}

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
    case table @ TableCall(call, Nil, child) if child.resolved && call.resolved =>
      // Aliases, so that Spark can rename the columns of one side of a self-join.
      val columns = columnsOf(call, child).map { case (name, kind) =>
        AttributeReference(name, kind)()
      }
      Project(columns.map(column => Alias(column, column.name)()), table.copy(output = columns))
  }

  private def columnsOf(call: ValueCall, child: LogicalPlan): Seq[(String, DataType)] =
    (call.function.kind, child) match {
      case ("side_outputs", Aggregated(aggregate, rows)) =>
        val message = new WindowMessage(callIn(rows), Nil, Nil, child.isStreaming, Some(call))
        import message.{spec, timeType}
        val row = DataTypeUtils.fromAttributes(rows.child.output)
        val ofRow = SideOutputRows.schema(row, timeType)
        Seq("tag" -> StringType, "results" -> DataTypeUtils.fromAttributes(aggregate.output)) ++
          Option.when(spec.lateRows != LateRows.No)("late" -> ofRow) ++
          Option.when(spec.deadLetters)("dead_letters" -> ofRow) ++
          Option.when(spec.watermarks)("watermarks" -> SideOutputRows.watermarks(timeType))
      case ("side_outputs", _) =>
        misplaced(
          call,
          "around a query that has no window in GROUP BY, or more behind its GROUP BY",
          "Write HAVING and ORDER BY around transom_side_outputs()")
      case _ =>
        val message = new StampedMessage(call, child.isStreaming)
        child.output.map(column => column.name -> column.dataType) :+
          ("stamp" -> StampOf.typeOf(message.timeType, message.spec.lifetime.isDefined))
    }

  /** The only window of an aggregation. `GROUP BY` may repeat it, also in other expressions. */
  private def windowOf(groups: Seq[Expression], calls: Seq[ValueCall]): ValueCall = {
    calls.find(call => !groups.exists(isSame(call, _))).foreach { call =>
      misplaced(
        call,
        "inside of another expression of GROUP BY",
        "Write it alone, separated by a comma from the other columns")
    }
    calls.find(!isSame(calls.head, _)).foreach { second =>
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
    val keys = groups
      .filterNot(isSame(call, _))
      .map(_.transform {
        case same: ValueCall if isSame(call, same) => window
      })
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
      case same: ValueCall if isSame(call, same) => window
      case aggregated: AggregateExpression => aggregated
      case column: AttributeReference => meant.getOrElse(column, column)
      case other => other.mapChildren(changed)
    }
    aggregate.copy(
      groupingExpressions = keys ++ columns.map(_.toAttribute),
      aggregateExpressions = aggregate.aggregateExpressions.map { result =>
        changed(result) match {
          // Spark names a repeated call by its text. Its own window keeps the name of the column.
          case alias @ Alias(`window`, name) if name == toPrettySQL(call) =>
            Alias(window, window.name)(alias.exprId, alias.qualifier)
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
    // A view stores the type of the operator's column, so this type must be the same.
    val mayBeNull = spec.window match {
      case _: CountWindows | Global => true
      case _ => false
    }
    val bounds = WindowType.of(message.timeType, mayBeNull)
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
    // The analysis of a subquery sees no WITH clauses of the query around. That query replaces the
    // windows of such a subquery too.
    val result =
      if (!hasWindows(plan) || refersToOutside(plan)) plan
      else
        // The plans of operators are made as those of other DataFrames, with transformations that
        // Spark refuses within a rule if SPARK_TESTING is set.
        AnalysisHelper.allowInvokingTransformsInAnalyzer(everywhere(inlined(plan)))
    // Spark's check tells what is wrong with an aggregation that was not replaced.
    result.foreach(node => if (!isWindowed(node)) refuseCalls(node))
    result
  }

  private def hasWindows(plan: LogicalPlan): Boolean =
    plan.collectFirstWithSubqueries { case node if isWindowed(node) => node }.isDefined

  private def refersToOutside(plan: LogicalPlan): Boolean = {
    val defined = plan.collectWithSubqueries { case clause: CTERelationDef => clause.id }.toSet
    !plan.collectWithSubqueries { case use: CTERelationRef => use.cteId }.forall(defined)
  }

  /** The plan with operators, also in its subqueries. */
  private def everywhere(plan: LogicalPlan): LogicalPlan =
    replaced(plan).resolveOperatorsUp { case node =>
      node.mapExpressions(_.transform {
        case subquery: SubqueryExpression if subquery.plan.exists(isWindowed) =>
          subquery.withNewPlan(everywhere(subquery.plan))
      })
    }

  /** The plan with operators in place of aggregations and table functions. Only now the columns
    * have their metadata, such as the name of their watermark, and know which fields may be null.
    * So the nodes above refer to them anew.
    */
  private def replaced(plan: LogicalPlan): LogicalPlan = plan match {
    case _ if !plan.exists(isWindowed) => plan
    case TableCall(call, output, Aggregated(aggregate, rows))
        if call.function.kind == "side_outputs" =>
      val below = refreshed(aggregate, rows.mapChildren(replaced))
      taggedBy(call, output, below.asInstanceOf[Aggregate])
    case _ =>
      val over = plan.mapChildren(replaced)
      refreshed(over, over.children: _*) match {
        case aggregate: Aggregate if Aggregated.unapply(aggregate).isDefined =>
          resultsOf(aggregate)
        case TableCall(call, output, child) => stampedBy(call, output, child)
        case other => other
      }
  }

  /** A node over new children. */
  private def refreshed(node: LogicalPlan, children: LogicalPlan*): LogicalPlan = {
    val known = AttributeMap(children.filter(_.resolved).flatMap(_.output).map(a => a -> a))
    val over = node.withNewChildren(children)
    over.mapExpressions(_.transform { case column: AttributeReference =>
      known.get(column).fold(column) { now =>
        AttributeReference(column.name, now.dataType, now.nullable, now.metadata)(
          column.exprId,
          column.qualifier)
      }
    })
  }

  // A window operator is planned over its input, which must not refer to the plan around.
  private def inlined(plan: LogicalPlan): LogicalPlan =
    if (plan.containsPattern(CTE)) inlineClauses(plan) else plan

  // Spark's rule with its defaults. Its constructor has a flag more in Spark 4.3.
  private lazy val inlineClauses: Rule[LogicalPlan] = {
    val constructor = classOf[InlineCTE].getConstructors.head
    val flags = Seq.fill(constructor.getParameterCount)(Boolean.box(false))
    constructor.newInstance(flags: _*).asInstanceOf[InlineCTE]
  }

  /** The select list over the results of an operator. */
  private def resultsOf(aggregate: Aggregate): LogicalPlan = {
    val planned = new Planned(aggregate, None)
    val list = planned.list(planned.operator.output)
    val selected = Project(list, planned.operator)
    // A column that is no key: Spark has an error for it.
    if (selected.missingInput.isEmpty) selected else aggregate
  }

  /** The select list over the results of an operator with side outputs. A row holds a result, or
    * one row of a side output.
    */
  private def taggedBy(
      call: ValueCall,
      output: Seq[Attribute],
      aggregate: Aggregate): LogicalPlan = {
    val planned = new Planned(aggregate, Some(call))
    val columns = planned.operator.output
    val results = columns(1)
    val fields = results.dataType.asInstanceOf[StructType].indices.map(GetStructField(results, _))
    val list = planned.list(fields)
    val struct = CreateNamedStruct(
      list.flatMap(column => Seq(Literal(column.name), column.child)))
    val known = If(IsNull(results), Literal(null, struct.dataType), struct)
    val tagged = Project(renamed(columns.updated(1, known), output), planned.operator)
    // A column that is no key: Spark has an error for it.
    if (tagged.missingInput.isEmpty) tagged else TableCall(call, output, aggregate)
  }

  private def stampedBy(
      call: ValueCall,
      output: Seq[Attribute],
      child: LogicalPlan): LogicalPlan = {
    val message = new StampedMessage(call, child.isStreaming)
    val (input, found) = inputOf(call, child, message.columns)
    val columns = found.map(ExpressionUtils.column)
    val stamped = StampedPlanner.plan(input, message.spec, columns).queryExecution.analyzed
    Project(renamed(stamped.output, output), stamped)
  }

  /** The input as a query of its own, whose analysis may rename columns, and columns over it. */
  private def inputOf(
      call: ValueCall,
      rows: LogicalPlan,
      columns: Seq[Expression]): (Dataset[Row], Seq[Expression]) = {
    if (rows.exists(_.isInstanceOf[CTERelationRef]))
      misplaced(
        call,
        "over a WITH clause that is used several times and has other rows each time",
        "Write its rows to a table first")
    val input = Dataset.ofRows(session, rows)
    val known = AttributeMap(rows.output.zip(input.queryExecution.analyzed.output))
    val found = columns.map(_.transform { case column: Attribute =>
      known.getOrElse(column, column)
    })
    (input, found)
  }

  private def renamed(columns: Seq[Expression], output: Seq[Attribute]): Seq[Alias] =
    columns.zip(output).map { case (column, known) => Alias(column, known.name)(known.exprId) }

  /** The plan of the operator of an aggregation.
    *
    * @param sideOutputs
    *   the call of `transom_side_outputs` around the aggregation
    */
  private final class Planned(aggregate: Aggregate, sideOutputs: Option[ValueCall]) {
    private val rows = aggregate.child.asInstanceOf[Project]
    private val own = rows.projectList.filter(resultColumn(_).isDefined).map(_.toAttribute)
    private val isOwn = AttributeSet(own)
    // A window has one value of an expression over its own columns, which is therefore no key.
    private val keys = aggregate.groupingExpressions.filterNot { group =>
      group.deterministic && group.references.nonEmpty && group.references.subsetOf(isOwn)
    }
    private val results = aggregate.aggregateExpressions
    private val aggregates = {
      val all = results.flatMap(_.collect { case a: AggregateExpression => a })
      val different = all.distinctBy(_.canonicalized)
      // An operator computes at least one aggregate.
      if (different.isEmpty) Seq(Count(Literal(1)).toAggregateExpression()) else different
    }

    val operator: LogicalPlan = {
      val call = callIn(rows)
      (aggregate.expressions ++ rows.projectList)
        .flatMap(_.collect { case outer: OuterReference => outer })
        .foreach(refuseOuter(call, _))
      (keys ++ aggregates).find(_.references.exists(isOwn.contains)).foreach(refuseOwn(call, _))
      val message = new WindowMessage(call, keys, aggregates, rows.isStreaming, sideOutputs)
      val (input, found) = inputOf(call, rows.child, message.columns)
      val first = found.length - aggregates.length
      val columns = found.zipWithIndex.map { case (column, i) =>
        ExpressionUtils.column(column match {
          case distance: Distance => SqlMessage.distanceOver(distance)
          case key if i < keys.length => Alias(key, s"key_$i")()
          case value if i >= first => Alias(value, s"value_${i - first}")()
          case other => other
        })
      }
      WindowPlanner.plan(input, message.spec, columns).queryExecution.analyzed
    }

    /** The select list.
      *
      * @param columns
      *   the columns of the operator: keys, the columns of the window, and aggregates
      */
    def list(columns: Seq[Expression]): Seq[Alias] = {
      val ofOwn = own.map(_.exprId).zip(columns.drop(keys.length)).toMap
      val values = columns.drop(keys.length + own.length)
      def over(e: Expression): Expression = e match {
        case a: AggregateExpression => values(aggregates.indexWhere(_.semanticEquals(a)))
        case column: AttributeReference if ofOwn.contains(column.exprId) => ofOwn(column.exprId)
        case key if keys.exists(_.semanticEquals(key)) =>
          columns(keys.indexWhere(_.semanticEquals(key)))
        case other => other.mapChildren(over)
      }
      results.zip(aggregate.output).map { case (result, declared) =>
        val (column, name) = over(result) match {
          case Alias(column, name) => (column, name)
          case other => (other, result.name)
        }
        val metadata = Some(column).collect { case named: NamedExpression => named.metadata }
        Alias(asDeclared(column, declared.dataType), name)(
          result.exprId,
          result.qualifier,
          explicitMetadata = metadata)
      }
    }
  }
}

/** Refuses windows that are left after Spark's own checks. */
object CheckWindows extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan.foreach(WindowRules.refuseCalls)
}

/** What the rules know about plans. */
private object WindowRules {

  /** A column with the type that the aggregation has declared, which views store. In Spark 4.3
    * the aggregations of streams declare that each field may be null.
    */
  def asDeclared(column: Expression, declared: DataType): Expression =
    if (column.dataType != declared &&
      DataType.equalsIgnoreCompatibleNullability(column.dataType, declared))
      Cast(column, declared)
    else column

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

  /** Whether a node is there only to be replaced. */
  def isWindowed(plan: LogicalPlan): Boolean = plan match {
    case Project(columns, _) => columns.exists(resultColumn(_).isDefined)
    case _ => plan.isInstanceOf[TableCall]
  }

  /** The window of an aggregation over the columns of its results. */
  def callIn(rows: Project): ValueCall =
    rows.projectList
      .flatMap(resultColumn)
      .head
      .call
      .transform { case HiddenAggregate(hidden) => hidden }
      .asInstanceOf[ValueCall]

  /** An aggregation with a window, and the rows below with the columns of its results. */
  object Aggregated {
    def unapply(plan: LogicalPlan): Option[(Aggregate, Project)] = plan match {
      case aggregate @ Aggregate(_, _, rows: Project, _) if isWindowed(rows) =>
        Option.when(aggregate.resolved)((aggregate, rows))
      case SubqueryAlias(_, child) => unapply(child)
      case _ => None
    }
  }

  /** Whether an expression is the call. */
  def isSame(call: ValueCall, e: Expression): Boolean = e match {
    case other: ValueCall => other.canonicalized == call.canonicalized
    case _ => false
  }

  /** Refuses a column of the query around. A name that both queries have means that column,
    * because Spark looks for columns before the window has any.
    */
  def refuseOuter(call: ValueCall, column: OuterReference): Nothing =
    misplaced(
      call,
      s"next to ${toPrettySQL(column)}, a column of the query around",
      s"Use this column in HAVING, or write ${call.prettyName}(...) again for the window")

  /** Refuses a key or an aggregate that is computed from columns of the result. */
  def refuseOwn(call: ValueCall, e: Expression): Nothing =
    SqlMessage.refuse(
      "NOT_IN_GROUP_BY",
      e.origin,
      "function" -> call.prettyName,
      "where" -> s"in ${toPrettySQL(e)}, which is computed from rows before they are in windows",
      "fix" -> "Write an expression over aggregates, or use the window in a query around this one")

  def misplaced(call: ValueCall, where: String, fix: String): Nothing =
    SqlMessage.refuse(
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
