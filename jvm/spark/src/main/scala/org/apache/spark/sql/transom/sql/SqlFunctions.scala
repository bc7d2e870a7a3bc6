package org.apache.spark.sql.transom.sql

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.transom.function.Top
import org.apache.spark.sql.transom.planned.WindowType
import org.apache.spark.sql.types.{AbstractDataType, AnyDataType, DataType, StringType, StructType, TimestampType}

/** A parameter of a function of SQL.
  *
  * @param name
  *   the name of the argument
  * @param field
  *   the field in the message, without the suffix that says how the message has it
  * @param form
  *   what the argument is: "duration", "column", "value" and so on
  * @param byName
  *   whether the argument needs its name
  * @param default
  *   what the message has without the argument; none if the argument is required
  * @param choices
  *   the texts that a "choice" may be
  * @param kinds
  *   the kinds of values that a "value" may be
  * @param forDuration
  *   the kind of value for which a duration stands, if there is one
  * @param orNull
  *   whether the argument may be `NULL`, which the message then has
  * @param about
  *   what the argument means, for `DESCRIBE FUNCTION EXTENDED`
  */
final case class Parameter(
    name: String,
    field: String,
    form: String,
    byName: Boolean,
    default: Option[JsonNode],
    choices: Seq[String],
    kinds: Seq[String],
    forDuration: Option[String],
    orNull: Boolean,
    about: String)

/** A function of SQL that stands for a value of Python.
  *
  * @param name
  *   the name in SQL
  * @param kind
  *   the kind of the value in the message
  * @param role
  *   what the value is: a window, a trigger, an evictor, a time, a rule and so on. An "aggregate"
  *   and a "table" are functions of their own.
  * @param parameters
  *   the parameters, in order. Those of a window begin with its time.
  */
final case class SqlFunction(
    name: String,
    kind: String,
    role: String,
    parameters: Seq[Parameter],
    usage: String,
    example: String) {

  def isWindow: Boolean = role == "window"

  def isTable: Boolean = role == "table"

  /** The parameters of a window in `GROUP BY`, or else those of the value. */
  def parametersInQuery: Seq[Parameter] =
    if (!isWindow) parameters
    else parameters ++ SqlFunctions.options.filterNot(o => parameters.exists(_.name == o.name))

  /** The parameters of a window within `transom_windows`. */
  def parametersOfMember: Seq[Parameter] =
    parameters.filterNot(p => p.form == "time" || p.form == "lifetime")

  /** What `DESCRIBE FUNCTION EXTENDED` shows. */
  def info: ExpressionInfo = {
    val signature = parametersInQuery.map { parameter =>
      val name = if (parameter.byName) s"${parameter.name} => ..." else parameter.name
      if (parameter.default.isDefined) s"[$name]" else name
    }
    val arguments = parametersInQuery.map(p => s"      * ${p.name} - ${p.about}")
    new ExpressionInfo(
      classOf[ValueCall].getName,
      null,
      name,
      s"_FUNC_(${signature.mkString(", ")}) - $usage",
      if (arguments.isEmpty) "" else arguments.mkString("\n    Arguments:\n", "\n", "\n  "),
      s"\n    Examples:\n      > $example;\n  ",
      "",
      "",
      "0.1.0",
      "",
      "built-in")
  }
}

/** The functions of SQL, read from the table that Python's values make. */
object SqlFunctions {
  private lazy val table: JsonNode =
    Using.resource(getClass.getClassLoader.getResourceAsStream("transom/sql-functions.json")) {
      new ObjectMapper().readTree(_)
    }

  /** All functions by their names. */
  lazy val all: Map[String, SqlFunction] =
    table
      .get("functions")
      .properties
      .asScala
      .map { entry =>
        val (name, function) = (entry.getKey, entry.getValue)
        name -> SqlFunction(
          name,
          function.get("kind").asText,
          function.get("role").asText,
          parametersIn(function.get("parameters")),
          function.get("usage").asText,
          function.get("example").asText)
      }
      .toMap

  /** The options that each window in `GROUP BY` has. */
  lazy val options: Seq[Parameter] = parametersIn(table.get("options"))

  /** The options for the side outputs of a query. */
  def sideOutputs: Seq[Parameter] = all("transom_side_outputs").parameters

  /** The number of key groups, if the query does not set it. */
  def keyGroups: JsonNode = options.find(_.name == "key_groups").flatMap(_.default).get

  /** Adds the functions to all sessions. */
  def inject(extensions: SparkSessionExtensions): Unit =
    all.values.foreach { function =>
      val name = FunctionIdentifier(function.name)
      if (function.isTable)
        // Only for DESCRIBE: `ReadTables` has replaced each call with a table.
        extensions.injectTableFunction((name, function.info, TableCall.withoutTable(function, _)))
      else if (function.role == "aggregate")
        extensions.injectFunction((name, function.info, TopCall.of(function, _)))
      else extensions.injectFunction((name, function.info, ValueCall.of(function, _)))
    }

  private def parametersIn(list: JsonNode): Seq[Parameter] =
    list.elements.asScala.toSeq.map { p =>
      val name = p.get("name").asText
      def texts(field: String) =
        Option(p.get(field)).toSeq.flatMap(_.elements.asScala.map(_.asText))
      def text(field: String) = Option(p.get(field)).map(_.asText)
      Parameter(
        name,
        text("field").getOrElse(name),
        p.get("form").asText,
        p.get("by_name").asBoolean,
        Option(p.get("default")),
        texts("choices"),
        texts("kinds"),
        text("for_duration"),
        p.has("or_null"),
        p.get("about").asText)
    }
}

/** A call of a function that stands for a value. Only [[ReplaceWindows]] gives it a meaning. */
final case class ValueCall(function: SqlFunction, arguments: Seq[Expression])
    extends Expression
    with Unevaluable {
  override def children: Seq[Expression] = arguments
  override def prettyName: String = function.name
  // A type of its own would keep Spark from making a map of windows.
  override def dataType: DataType =
    if (function.isWindow) WindowType.of(TimestampType) else StringType
  override def nullable: Boolean = true
  override def toString: String = arguments.mkString(s"$prettyName(", ", ", ")")
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): ValueCall =
    copy(arguments = changed)
}

object ValueCall {
  def of(function: SqlFunction, arguments: Seq[Expression]): Expression =
    if (!arguments.exists(_.isInstanceOf[LambdaFunction])) ValueCall(function, arguments)
    else
      DistanceCall(
        ValueCall(
          function,
          arguments.map {
            case lambda: LambdaFunction => Distance(lambda)
            case other => other
          }))
}

/** Calls of `transom_top`, the only aggregate. */
object TopCall {
  def of(function: SqlFunction, arguments: Seq[Expression]): Expression = {
    import SqlMessage.{badType, bound, constant, refuse}
    val passed = bound(ValueCall(function, arguments), function.parameters)
    val (k, row) = (passed("k"), passed("row"))
    val rank = constant(function.parameters.head, k).asInstanceOf[Int]
    if (rank < 1)
      refuse(
        "NOT_POSITIVE",
        k.origin,
        "argument" -> "k",
        "value" -> rank.toString,
        "instead" -> "the largest rank, such as 3")
    row.dataType match {
      case struct: StructType if struct.names.exists(_.equalsIgnoreCase(Top.Rank)) =>
        refuse(
          "RESERVED_NAME",
          row.origin,
          "argument" -> "row",
          "column" -> s"'${Top.Rank}'",
          "fix" -> s"Give the column another name, as in struct(${Top.Rank} AS place)")
      case _: StructType => Top(rank, row, Nil)
      case _ => badType("row", row, "the columns of a row, as in struct(tail, delay)")
    }
  }
}

/** The body of a lambda function with a distance. Its variables have no types before the columns
  * of a row are known, so Spark must not resolve it.
  */
final case class Distance(lambda: LambdaFunction) extends LeafExpression with Unevaluable {
  override def dataType: DataType = StringType
  override def nullable: Boolean = true
  override def toString: String = lambda.toString
}

/** A call with a distance. Spark accepts lambda functions only in functions of this kind. */
final case class DistanceCall(call: ValueCall) extends HigherOrderFunction with Unevaluable {
  override def arguments: Seq[Expression] = Seq(call)
  override def argumentTypes: Seq[AbstractDataType] = Seq(AnyDataType)
  override def functions: Seq[Expression] = Nil
  override def children: Seq[Expression] = arguments
  override def functionTypes: Seq[AbstractDataType] = Nil
  override def dataType: DataType = call.dataType
  override def nullable: Boolean = true
  override def prettyName: String = call.prettyName
  override protected def bindInternal(
      f: (Expression, Seq[(DataType, Boolean)]) => LambdaFunction): HigherOrderFunction = this
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): DistanceCall =
    copy(changed.head.asInstanceOf[ValueCall])
}

/** A column of the results of a window: `window`, `pane` and so on. It stands below an
  * aggregation until [[ReplaceWindows]] replaces both.
  */
final case class ResultColumn(call: ValueCall, name: String, dataType: DataType)
    extends UnaryExpression
    with Unevaluable {
  override def child: Expression = call
  override def nullable: Boolean = true
  override protected def withNewChildInternal(newChild: Expression): ResultColumn =
    copy(call = newChild.asInstanceOf[ValueCall])
}

/** An aggregate of a condition, such as `transom_when(sum(delay) > 60)`. Spark would make an
  * aggregation of a `Project` with an aggregate, so the `Project` of [[ResolveWindows]] hides it.
  */
final case class HiddenAggregate(aggregate: AggregateExpression)
    extends Expression
    with Unevaluable {
  override def children: Seq[Expression] = aggregate.children
  override def dataType: DataType = aggregate.dataType
  override def nullable: Boolean = aggregate.nullable
  override protected def withNewChildrenInternal(
      changed: IndexedSeq[Expression]): HiddenAggregate =
    copy(aggregate.withNewChildren(changed).asInstanceOf[AggregateExpression])
}
