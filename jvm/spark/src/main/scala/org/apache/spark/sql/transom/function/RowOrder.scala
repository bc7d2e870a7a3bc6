package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceableAggregate
import org.apache.spark.sql.catalyst.expressions.aggregate._

/** Decides which aggregates depend on the order of rows. */
object RowOrder {

  /** Whether the result is known to be the same for any order of rows. */
  def isIgnored(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Sum | _: Average | _: Min | _: Max | _: CentralMomentAgg => true
    case _ => false
  }

  /** Whether the function ignores the order of rows, or is documented to merge values in no
    * particular order.
    */
  def isWaived(function: AggregateFunction): Boolean = function match {
    case _: Reduce | _: PythonPartials | _: Top => true
    case replaced: RuntimeReplaceableAggregate =>
      replaced.replacement match {
        case other: AggregateFunction => isWaived(other)
        case _ => false
      }
    case other => isIgnored(other)
  }
}
