package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.types.DataType

import transom.engine.setting.Constants

/** Aggregate that merges the values of a window by the user's expression over two values.
  *
  * Nulls are skipped, as in Spark's own aggregates. The first value that is not null is the
  * initial result. Values are merged in no particular order, so the expression must be
  * associative and commutative.
  *
  * @param lambda
  *   the expression, over two variables
  */
final case class Reduce(child: Expression, lambda: Expression)
    extends DeclarativeAggregate
    with BinaryLike[Expression] {

  override def left: Expression = child
  override def right: Expression = lambda
  override def nullable: Boolean = true
  override def dataType: DataType = child.dataType
  override def prettyName: String = "reduce"

  private lazy val held = AttributeReference("held", dataType)()

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(held)
  override lazy val initialValues: Seq[Literal] = Seq(Literal.create(null, dataType))
  override lazy val updateExpressions: Seq[Expression] = Seq(merged(held, child))
  override lazy val mergeExpressions: Seq[Expression] = Seq(merged(held.left, held.right))
  override lazy val evaluateExpression: Expression = held

  private def merged(one: Expression, other: Expression): Expression = {
    val LambdaFunction(body, variables, _) = lambda: @unchecked
    val values = variables.map(_.exprId).zip(Seq(one, other)).toMap
    val both = body.transformDown { case v: NamedLambdaVariable =>
      values.getOrElse(v.exprId, v)
    }
    If(IsNull(other), one, If(IsNull(one), other, both))
  }

  /** Why the expression cannot be an aggregate; none if it can. */
  def problem: Option[String] =
    if (lambda.dataType.asNullable != dataType.asNullable)
      Some(
        s"its function merges two values of type ${dataType.sql} into a value of type " +
          s"${lambda.dataType.sql}, which it cannot merge again; cast what the function returns")
    else if (lambda.references.nonEmpty)
      Some(
        s"its function reads ${lambda.references.map(_.name).mkString(", ")} next to the two " +
          "values that it merges; add these columns to the aggregated column, as a struct")
    else None

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): Reduce =
    copy(child = newLeft, lambda = newRight)
}

/** Builds [[Reduce]] from the arguments of a call by name. */
object Reduce {

  /** The name by which the Python package calls the function. The argument is a `zip_with` of the
    * column with itself, from which Spark derives the types of the lambda's variables.
    */
  val Name: String = Constants.ReduceFunction

  def of(arguments: Seq[Expression]): Expression = {
    val Seq(ZipWith(CreateArray(Seq(child), _), _, lambda)) = arguments: @unchecked
    Reduce(child, lambda)
  }
}
