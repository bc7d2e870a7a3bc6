package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection

/** What aggregate functions make of an accumulator.
  *
  * @param buffers
  *   the columns of an accumulator
  */
final class Evaluation(functions: Seq[AggregateFunction], buffers: Seq[Attribute]) {

  /** The results, overwritten by those of the next accumulator. */
  val results = new SpecificInternalRow(functions.map(_.dataType))
  private val evaluate = GenerateMutableProjection.generate(
    functions.map {
      case f: DeclarativeAggregate => f.evaluateExpression
      case _ => NoOp
    },
    buffers)
  evaluate.target(results)
  private val imperative = functions.zipWithIndex.collect { case (f: ImperativeAggregate, i) =>
    (f, i)
  }

  def apply(accumulator: InternalRow): InternalRow = {
    evaluate(accumulator)
    imperative.foreach { case (f, i) => results.update(i, f.eval(accumulator)) }
    results
  }
}
