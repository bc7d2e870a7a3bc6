package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression

/** The user's predicates and distance functions in triggers and evictors, by column index of the
  * message.
  *
  * @param conditions
  *   predicates over a row and the aggregates of its window
  * @param distances
  *   distance functions from a row to an older row
  */
final class UserExpressions(
    val conditions: Map[Int, Expression],
    val distances: Map[Int, Distance])
    extends Serializable {

  /** All expressions, by column index of the message. */
  def byIndex: Map[Int, Expression] =
    conditions ++ distances.transform((_, distance) => distance.of)

  /** The aggregates that the predicates read. */
  def functions: Seq[AggregateExpression] =
    conditions.values.toSeq.flatMap(UserExpressions.functionsOf)

  /** The columns that the expressions read. Includes the results of aggregates once columns
    * replace the aggregates.
    */
  def columns: Seq[Attribute] =
    conditions.values.toSeq.flatMap(_.references) ++ distances.values.flatMap(_.columns)
}

/** Finds the aggregates in the user's expressions. */
object UserExpressions {
  def functionsOf(e: Expression): Seq[AggregateExpression] =
    e.collect { case function: AggregateExpression => function }
}

/** A distance function: a number computed from two rows.
  *
  * @param of
  *   the expression, over columns for the newer row and their twins for the older row
  * @param twins
  *   pairs of a column and its twin
  */
final case class Distance(of: Expression, twins: Seq[(Attribute, Attribute)]) {

  def columns: Seq[Attribute] = {
    val columnOf = AttributeMap(twins.map(_.swap))
    of.references.toSeq.map(a => columnOf.getOrElse(a, a))
  }
}
