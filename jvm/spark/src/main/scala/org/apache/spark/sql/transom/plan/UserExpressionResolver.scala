package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.{AnalysisException, Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.{Distance, OperatorSpec, UserExpressions}
import org.apache.spark.sql.types._

import transom.engine.firing.{AfterDelta, KeepNear, KeepWhere, When}
import transom.engine.setting.Constants
import transom.engine.spec.WindowSpec

/** Resolves and checks the user's expressions. */
object UserExpressionResolver {
  private final val Condition = "condition"
  private final val Delta = "delta"

  /** The columns of the message that are predicates. */
  def conditionColumns(spec: WindowSpec): Seq[Int] =
    partsOf(spec).flatMap {
      case When(column) => Some(column)
      case KeepWhere(column, _) => Some(column)
      case _ => None
    }

  /** The columns of the message that are distance functions. */
  def distanceColumns(spec: WindowSpec): Seq[Int] =
    partsOf(spec).flatMap {
      case AfterDelta(column, _) => Some(column)
      case KeepNear(column, _, _) => Some(column)
      case _ => None
    }

  private def partsOf(spec: WindowSpec): Seq[Product] = spec.trigger.parts ++ spec.evictor

  def of(df: Dataset[Row], spec: WindowSpec, columns: Seq[Column]): UserExpressions =
    new UserExpressions(
      conditionColumns(spec).map(i => i -> condition(df, columns(i))).toMap,
      distanceColumns(spec).map(i => i -> distance(df, columns(i))).toMap)

  /** Whether only a Spark plan can compute the expression, because its value depends on more than
    * the values of columns.
    */
  def needsPlan(e: Expression): Boolean = e.containsPattern(CURRENT_LIKE) || e.exists {
    case _: Attribute => false
    case part => part.isInstanceOf[Unevaluable] || !part.deterministic
  }

  def refuse(argument: String, e: Expression, why: String): Nothing =
    throw new TransomException(
      "TRANSOM_EXPRESSION_UNSUPPORTED",
      Map("argument" -> argument, "expression" -> e.sql, "why" -> why))

  /** Returns the predicate. Throws if only a Spark plan can compute it. */
  def checked(condition: Expression): Expression =
    if (needsPlan(condition))
      refuse(Condition, condition, "only a query plan of Spark can compute it")
    else condition

  /** Resolves a predicate to an expression over columns of `df` and aggregate functions. */
  private def condition(df: Dataset[Row], column: Column): Expression = {
    val rows = df.queryExecution.analyzed
    val alias = Alias(df.sparkSession.expression(column), Condition)()
    val resolved = naming(Condition, rows.output) {
      val plan = df.sparkSession.sessionState.analyzer.execute(Aggregate(Nil, Seq(alias), rows))
      check(df, plan)
      plan
    }
    ReplaceExpressions(resolved) match {
      case Aggregate(_, Seq(Alias(condition, _)), _, _)
          if condition.references.subsetOf(rows.outputSet) =>
        if (condition.dataType != BooleanType)
          throw wrongType("TRANSOM_NOT_A_CONDITION", Condition, condition)
        val functions = UserExpressions.functionsOf(condition)
        functions
          .flatMap(f => AnalyzedAggregate.whyUnmergeable(f.aggregateFunction))
          .foreach(throw _)
        functions
          .find(f => f.children.exists(UserExpressions.functionsOf(_).nonEmpty))
          .foreach(refuse(Condition, _, "it aggregates an aggregate"))
        inlined(condition)
      case _ =>
        refuse(Condition, alias.child, "it is not a single value of a row and its window")
    }
  }

  /** Runs Spark's analysis check. Spark rejects an expression that reads both a row and an
    * aggregate. A predicate may read both, so this error is ignored.
    */
  private def check(df: Dataset[Row], plan: LogicalPlan): Unit =
    try df.sparkSession.sessionState.analyzer.checkAnalysis(plan)
    catch { case e: AnalysisException if e.getCondition == "MISSING_GROUP_BY" => }

  private def distance(df: Dataset[Row], column: Column): Distance = {
    val fields = df.queryExecution.analyzed.output.filterNot(OperatorSpec.isHidden)
    val twins = fields.map(a => a.newInstance().withName(s"older.${a.name}"))
    val rowType = StructType(fields.map(a => StructField(a.name, a.dataType, a.nullable)))
    def row(name: String) = AttributeReference(name, rowType, nullable = false)()
    val (older, newer) = (row(Constants.OlderRow), row(Constants.NewerRow))
    val both = Dataset.ofRows(df.sparkSession, LocalRelation(Seq(older, newer)))
    val resolved = naming(Delta, fields)(both.select(column).queryExecution.analyzed)
    ReplaceExpressions(resolved) match {
      // Spark computes several values of a row, such as those of `explode`, in a node below.
      case Project(Seq(named), _)
          if named.references.subsetOf(both.queryExecution.analyzed.outputSet) =>
        val number = inlined(valueOf(named))
        if (!number.dataType.isInstanceOf[NumericType])
          throw wrongType("TRANSOM_NOT_A_NUMBER", Delta, number)
        val of = overColumns(number, Map(older.exprId -> twins, newer.exprId -> fields))
        if (needsPlan(of)) refuse(Delta, number, "it needs more than the values of two rows")
        Distance(of, fields.zip(twins))
      case _ =>
        refuse(Delta, df.sparkSession.expression(column), "it is not a single value of two rows")
    }
  }

  /** Replaces the two rows and their fields by columns. */
  private def overColumns(e: Expression, columnsOf: Map[ExprId, Seq[Attribute]]): Expression =
    e.transformDown {
      case GetStructField(row: Attribute, i, _) => columnsOf(row.exprId)(i)
      case row: Attribute if columnsOf.contains(row.exprId) =>
        CreateNamedStruct(
          columnsOf(row.exprId).zip(row.dataType.asInstanceOf[StructType]).flatMap {
            case (column, field) => Seq(Literal(field.name), column)
          })
    }

  private def valueOf(column: NamedExpression): Expression = column match {
    case Alias(value, _) => value
    case other => other
  }

  private def wrongType(condition: String, argument: String, e: Expression): TransomException =
    new TransomException(
      condition,
      Map("argument" -> argument, "expression" -> e.sql, "type" -> e.dataType.sql))

  /** Replaces references to common subexpressions by the subexpressions. Spark does this only in
    * plans.
    */
  private def inlined(e: Expression): Expression = e.transformUp { case With(child, shared) =>
    val parts = shared.map(part => part.id -> part.child).toMap
    child.transformDown {
      case use: CommonExpressionRef if parts.contains(use.id) => parts(use.id)
    }
  }

  /** Turns Spark's error for an unknown column into an error that names the argument. */
  private def naming[T](argument: String, known: Seq[Attribute])(analysis: => T): T =
    try analysis
    catch {
      case e: AnalysisException if missing(e).isDefined =>
        val columns =
          known.filterNot(OperatorSpec.isHidden).map(a => s"'${a.name}'").mkString(", ")
        throw new TransomException(
          "TRANSOM_UNKNOWN_COLUMN",
          Map("argument" -> argument, "column" -> missing(e).get, "columns" -> columns))
    }

  private def missing(e: AnalysisException): Option[String] = {
    val parameters = e.getMessageParameters
    if (e.getCondition.startsWith("UNRESOLVED_COLUMN")) Option(parameters.get("objectName"))
    else if (e.getCondition == "FIELD_NOT_FOUND") Option(parameters.get("fieldName"))
    else None
  }
}
