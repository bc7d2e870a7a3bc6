package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.transom.planned.{Distance, WindowOperatorPlan}
import org.apache.spark.sql.types.DoubleType

import transom.engine.firing.{Condition, Conditions, Delta}

/** Compiles the predicates and distance functions of triggers and evictors.
  *
  * A predicate that is null counts as false. Not thread-safe: a predicate that `among` returns is
  * valid until the next call of `among`.
  */
final class KeyedConditions(operatorPlan: WindowOperatorPlan, aggregation: KeyedAggregation)
    extends Conditions[UnsafeRow, InternalRow] {

  override def condition(column: Int): Condition[UnsafeRow, InternalRow] = {
    val expression = operatorPlan.userExpressions.conditions(column)
    val read =
      operatorPlan.accumulated.filter(f => expression.references.contains(f.resultAttribute))
    val evaluation = aggregation.evaluation(read)
    val holds = Predicate.create(expression, operatorPlan.record ++ read.map(_.resultAttribute))
    val joined = new JoinedRow
    val test: UnsafeRow => Boolean = row => holds.eval(joined.withLeft(row))
    new Condition[UnsafeRow, InternalRow] {
      override def readsAccumulator: Boolean = read.nonEmpty
      override def among(accumulator: InternalRow): UnsafeRow => Boolean = {
        joined.withRight(if (readsAccumulator) evaluation(accumulator) else InternalRow.empty)
        test
      }
    }
  }

  /** Compiles a distance function.
    *
    * A null distance becomes NaN, so it is neither above nor below a threshold.
    */
  override def delta(column: Int): Delta[UnsafeRow] = {
    val Distance(of, twins) = operatorPlan.userExpressions.distances(column)
    val twinOf = AttributeMap(twins)
    val older = operatorPlan.record.map(a => twinOf.getOrElse(a, a.newInstance()))
    val number = Coalesce(Seq(Cast(of, DoubleType), Literal(Double.NaN)))
    val toNumber = UnsafeProjection.create(Seq(number), older ++ operatorPlan.record)
    val both = new JoinedRow
    (from, to) => toNumber(both(from, to)).getDouble(0)
  }
}
