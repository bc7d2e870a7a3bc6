package org.apache.spark.sql.transom.plan

import scala.collection.mutable

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exec.OperatorNode
import org.apache.spark.sql.transom.function.Top
import org.apache.spark.sql.transom.message.SpecCodec
import org.apache.spark.sql.transom.planned.{OperatorSpec, StateLayout}

import transom.engine.setting.Constants
import transom.engine.spec.{StampSpec, WindowSpec}

/** Builds the spec of an operator from its message and columns. */
object OperatorSpecBuilder {
  private val mapper = new ObjectMapper()
  private final val WindowName = "window"
  private final val StampedName = "stamped"
  private val ValidName = Constants.OperatorNamePattern.r

  /** Builds the spec of an operator over `input`. */
  def of(
      input: LogicalPlan,
      spec: WindowSpec,
      layout: StateLayout,
      columns: AnalyzedColumns): OperatorSpec = {
    val name = nameOf(spec.name, WindowName, input)
    write(name, Some(layout), SpecCodec.encode(spec), columns.byIndex)
  }

  /** Builds the spec of a time stage over `input` without windows. */
  def of(input: LogicalPlan, spec: StampSpec, columns: Map[Int, Expression]): OperatorSpec =
    write(nameOf(None, StampedName, input), None, SpecCodec.encode(spec), columns)

  private def write(
      name: String,
      layout: Option[StateLayout],
      message: String,
      columns: Map[Int, Expression]): OperatorSpec = {
    val record = mapper.createObjectNode()
    record.put("operator", name).put("transom", BuildInfo.version)
    layout.foreach(layout => record.put("layout", layout.name))
    record.set[JsonNode]("spec", mapper.readTree(message))
    val inOrder = columns.toSeq.sortBy(_._1).map(column => withoutRows(column._2))
    record.set[JsonNode]("columns", OperatorSpec.array(inOrder.map(describe)))
    OperatorSpec(name, mapper.writeValueAsString(record), inOrder.map(textOf))
  }

  /** The user's name for the operator, or a default that counts the operators below it. */
  private def nameOf(userName: Option[String], default: String, input: LogicalPlan): String = {
    val below = OperatorNode.allIn(input).map(_.spec.name)
    def isTaken(name: String): Boolean = below.exists(_.equalsIgnoreCase(name))
    userName match {
      case Some(name) if !ValidName.matches(name) => throw refusal("BAD_NAME", name)
      case Some(name) if isTaken(name) => throw refusal("NAME_TAKEN", name)
      case Some(name) => name
      case None =>
        val numbered = Iterator.from(below.length + 1).map(i => s"${default}_$i")
        (Iterator(default).filter(_ => below.isEmpty) ++ numbered).find(!isTaken(_)).get
    }
  }

  private def refusal(condition: String, name: String): TransomException =
    new TransomException(s"TRANSOM_$condition", Map("value" -> s"'$name'"))

  /** The column without the rows that `top` keeps. The checkpoint has their schema apart from the
    * spec, because they may change.
    */
  private def withoutRows(column: Expression): Expression = column.transformUp { case top: Top =>
    top.copy(row = CreateNamedStruct(Nil))
  }

  /** Describes a column: its SQL, its type, and the types of the columns it reads. */
  private def describe(expression: Expression): JsonNode = {
    val node = mapper.createObjectNode()
    node.put("sql", sqlOf(expression)).put("type", typeOf(expression))
    val reads = node.putObject("reads")
    expression.references.toSeq
      .sortBy(_.name)
      .foreach(a => reads.put(a.name, a.dataType.asNullable.sql))
    node
  }

  private def textOf(expression: Expression): String =
    s"${sqlOf(expression)} ${typeOf(expression)}"

  private def typeOf(expression: Expression): String = expression.dataType.asNullable.sql

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
