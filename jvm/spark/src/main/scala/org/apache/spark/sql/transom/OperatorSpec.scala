package org.apache.spark.sql.transom

import scala.collection.mutable

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.Dataset

import transom.engine.spec.{Constants, WindowSpec}
import transom.spark.{PythonApi, SpecCodec, TransomException}

/** The spec of one window operator, as the checkpoint stores it and `explain` shows it.
  *
  * @param name
  *   unique in its query plan, and the same each time the plan is built
  * @param record
  *   JSON with the operator's name, the transom version, the state layout, the message as sent,
  *   and a description of each column that the message names
  */
final case class OperatorSpec(name: String, record: String) {
  def json: ObjectNode = OperatorSpec.read(record)

  // Spark prints this text with each node of a plan.
  override def toString: String = name
}

/** Builds the spec of an operator and reads its JSON. */
object OperatorSpec {
  private val mapper = new ObjectMapper()
  private val DefaultName = "window"
  private val ValidName = Constants.OperatorNamePattern.r

  def read(record: String): ObjectNode = mapper.readTree(record).asInstanceOf[ObjectNode]

  /** Whether the Python package added the column. */
  def isHidden(column: Attribute): Boolean = column.name.startsWith(Constants.HiddenPrefix)

  def pretty(node: JsonNode): String =
    mapper.writerWithDefaultPrettyPrinter.writeValueAsString(node)

  def array(nodes: Seq[JsonNode]): ArrayNode =
    nodes.foldLeft(mapper.createArrayNode())((list, node) => list.add(node))

  /** The window operators of a plan, in the order in which rows pass them. */
  def operatorsOf(plan: LogicalPlan): Seq[WindowMapSide] =
    plan.collect { case mapSide: WindowMapSide => mapSide }.reverse.distinctBy(_.operatorId)

  def of(
      df: Dataset[Row],
      spec: WindowSpec,
      layout: StateLayout,
      columns: Seq[Column]): OperatorSpec = {
    val name = nameOf(spec.name, operatorsOf(df.queryExecution.analyzed).map(_.operatorPlan.name))
    val record = mapper.createObjectNode()
    record
      .put("operator", name)
      .put("transom", PythonApi.version())
      .put("layout", layout.name)
    record.set[JsonNode]("spec", mapper.readTree(SpecCodec.encode(spec)))
    record.set[JsonNode]("columns", array(describe(df, spec, columns)))
    OperatorSpec(name, mapper.writeValueAsString(record))
  }

  /** The user's name for the operator, or a default that counts the operators below it. */
  private def nameOf(userName: Option[String], below: Seq[String]): String = {
    def isTaken(name: String): Boolean = below.exists(_.equalsIgnoreCase(name))
    userName match {
      case Some(name) if !ValidName.matches(name) => throw refusal("BAD_NAME", name)
      case Some(name) if isTaken(name) => throw refusal("NAME_TAKEN", name)
      case Some(name) => name
      case None =>
        val numbered = Iterator.from(below.length + 1).map(i => s"${DefaultName}_$i")
        (Iterator(DefaultName).filter(_ => below.isEmpty) ++ numbered).find(!isTaken(_)).get
    }
  }

  private def refusal(condition: String, name: String): TransomException =
    new TransomException(s"TRANSOM_$condition", Map("value" -> s"'$name'"))

  /** Describes each column of the message: its SQL, its type, and the types of the columns it
    * reads.
    */
  private def describe(
      df: Dataset[Row],
      spec: WindowSpec,
      columns: Seq[Column]): Seq[JsonNode] = {
    val aggregates = spec.function.aggregateColumns
    val userExpressions = UserExpressions.of(df, spec, columns)
    val expressions = userExpressions.conditions ++ userExpressions.distances.transform(
      (_, distance) => distance.of)
    val ofRows = columns.indices.filterNot((aggregates ++ expressions.keys).toSet)
    val selected = df.select(ofRows.map(columns): _*).queryExecution.analyzed
    val aggregated =
      Aggregation.analyze(df, spec.keyColumns.map(columns), aggregates.map(columns))
    val results = computed(df, aggregated).takeRight(aggregates.length)
    val byIndex =
      expressions ++ ofRows.zip(computed(df, selected)) ++ aggregates.zip(results)
    columns.indices.map(i => describe(byIndex(i)))
  }

  /** Expresses the output columns of `plan` over the columns of `df`. Replaces each reference to
    * an alias by its expression, in whichever node Spark computes the alias.
    */
  private def computed(df: Dataset[Row], plan: LogicalPlan): Seq[Expression] = {
    val known =
      AttributeSet(df.queryExecution.analyzed.output.filterNot(isHidden))
    val aliases = plan
      .collect { case node => node.expressions }
      .flatten
      .collect { case alias: Alias if !known.contains(alias.toAttribute) => alias }
    val byColumn = AttributeMap(aliases.map(alias => alias.toAttribute -> alias.child))
    def inTermsOfDf(e: Expression): Expression =
      e.transformUp { case a: Attribute => byColumn.get(a).fold[Expression](a)(inTermsOfDf) }
    plan.output.map(inTermsOfDf)
  }

  private def describe(expression: Expression): JsonNode = {
    val node = mapper.createObjectNode()
    node.put("sql", sqlOf(expression)).put("type", expression.dataType.asNullable.sql)
    val reads = node.putObject("reads")
    expression.references.toSeq
      .sortBy(_.name)
      .foreach(a => reads.put(a.name, a.dataType.asNullable.sql))
    node
  }

  /** SQL of an expression that stays the same from run to run. Drops the qualifiers of columns
    * and numbers the variables of lambdas.
    */
  private def sqlOf(expression: Expression): String = {
    val variables = mutable.LinkedHashMap.empty[ExprId, String]
    expression.transformUp {
      case a: AttributeReference => a.withQualifier(Nil)
      case v: NamedLambdaVariable =>
        AttributeReference(
          variables.getOrElseUpdate(v.exprId, s"x${variables.size + 1}"),
          v.dataType)()
    }.sql
  }
}
