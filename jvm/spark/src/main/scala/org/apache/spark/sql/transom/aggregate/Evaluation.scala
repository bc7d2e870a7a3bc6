package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection

/** Computes the results of aggregate functions from an accumulator.
  *
  * Not thread-safe. Each call overwrites `results`.
  *
  * @param buffers
  *   columns of the accumulator
  */
final class Evaluation(functions: Seq[AggregateFunction], buffers: Seq[Attribute]) {

  /** The results of the latest accumulator. */
  val results = new SpecificInternalRow(functions.map(_.dataType))
  private val evaluate = GenerateMutableProjection.generate(
    functions.map {
      case f: DeclarativeAggregate => f.evaluateExpression
      case _ => NoOp
    },
    buffers)
  evaluate.target(results)
  private val imperative = functions.zipWithIndex.flatMap {
    case (f: ImperativeAggregate, i) => Some((f, i))
    case _ => None
  }

  def apply(accumulator: InternalRow): InternalRow = {
    evaluate(accumulator)
    imperative.foreach { case (f, i) => results.update(i, f.eval(accumulator)) }
    results
  }
}
