package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.transom.operator.TimeStagePlan

/** Sums up the rows of a map-side task, as far as a time stage judges rows by them: their order,
  * and the partition, time, arrival and order column of each row.
  *
  * A task that reads its rows again compares the sums. Not thread-safe.
  *
  * @param input
  *   the columns of the rows
  */
final class RowsSum(plan: TimeStagePlan, input: Seq[Attribute]) {
  import RowsSum._

  private val numbers =
    (Seq(plan.time, plan.arrival) ++ plan.orderNumber).map(positionOf).toArray
  private val partitionAt = plan.partition.fold(-1)(positionOf)

  /** The number of rows. */
  var rows: Long = 0L

  /** The sum, which depends on the order of the rows. */
  var sum: Long = 0L

  /** Adds a row. */
  def add(row: InternalRow): Unit = {
    rows += 1
    var i = 0
    while (i < numbers.length) {
      val at = numbers(i)
      add(if (row.isNullAt(at)) Null else row.getLong(at))
      i += 1
    }
    if (partitionAt >= 0)
      add(if (row.isNullAt(partitionAt)) Null else row.getUTF8String(partitionAt).hashCode.toLong)
  }

  private def add(number: Long): Unit =
    sum = (java.lang.Long.rotateLeft(sum, 5) ^ number) * Factor

  private def positionOf(column: Attribute): Int = input.indexWhere(_.exprId == column.exprId)
}

private object RowsSum {
  private final val Null = 0x5bd1e9955bd1e995L

  // Odd, so the product differs if the number differs.
  private final val Factor = 0x9e3779b97f4a7c15L
}
