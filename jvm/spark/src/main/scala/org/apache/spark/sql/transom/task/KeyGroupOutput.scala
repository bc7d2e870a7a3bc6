package org.apache.spark.sql.transom.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

import transom.engine.runtime.{Gauges, KeyGroupOperator, RowCounts}

/** An output of a key group in a batch: its rows, or its metrics.
  *
  * Spark's stateful operator has a cost per output row, so a single output row carries all rows
  * of a key group. Only transom's nodes read an output, and they read its fields. As a row it has
  * one null column.
  */
final class KeyGroupOutput(val metrics: Option[KeyGroupMetrics], val rows: Iterator[InternalRow])
    extends GenericInternalRow(Array[Any](null))

/** The metrics of a key group in a batch.
  *
  * @param gauges
  *   the metrics that are not sums; none if the operator does not know them
  * @param partitionId
  *   the text of a partition's id
  */
final class KeyGroupMetrics(
    val group: Int,
    val counts: RowCounts,
    val gauges: Option[Gauges],
    val partitionId: Array[Byte] => String)

/** Reads the metrics of key groups. */
object KeyGroupMetrics {

  /** The metrics of a key group that has processed its batch; none if there are none. */
  def of(
      group: Int,
      operator: KeyGroupOperator[_],
      partitionId: Array[Byte] => String): Option[KeyGroupMetrics] = {
    val gauges = operator.gauges
    Option.unless(operator.counts.isEmpty && gauges.isEmpty)(
      new KeyGroupMetrics(group, operator.counts, gauges, partitionId))
  }
}
