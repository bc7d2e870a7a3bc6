package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DoubleType

import transom.engine.keyed.{Condition, Conditions, Delta}

/** What triggers and evictors ask of a stage's records, compiled. */
final class KeyedConditions(stage: WindowStage, aggregation: KeyedAggregation)
    extends Conditions[UnsafeRow, InternalRow] {

  override def condition(column: Int): Condition[UnsafeRow, InternalRow] = {
    val asked = stage.asked.conditions(column)
    val read =
      stage.accumulated.filter(f => asked.references.contains(f.resultAttribute))
    val evaluation = aggregation.evaluation(read)
    // Null is false.
    val holds = Predicate.create(asked, stage.record ++ read.map(_.resultAttribute))
    val whole = new JoinedRow
    val question: UnsafeRow => Boolean = row => holds.eval(whole.withLeft(row))
    new Condition[UnsafeRow, InternalRow] {
      override def readsAccumulator: Boolean = read.nonEmpty
      override def among(accumulator: InternalRow): UnsafeRow => Boolean = {
        whole.withRight(if (readsAccumulator) evaluation(accumulator) else InternalRow.empty)
        question
      }
    }
  }

  /** A distance that is null is no number, which is neither above nor below another. */
  override def delta(column: Int): Delta[UnsafeRow] = {
    val Distance(of, twins) = stage.asked.distances(column)
    val twinOf = AttributeMap(twins)
    val older = stage.record.map(a => twinOf.getOrElse(a, a.newInstance()))
    val number = Coalesce(Seq(Cast(of, DoubleType), Literal(Double.NaN)))
    val toNumber = UnsafeProjection.create(Seq(number), older ++ stage.record)
    val both = new JoinedRow
    (from, to) => toNumber(both(from, to)).getDouble(0)
  }
}
