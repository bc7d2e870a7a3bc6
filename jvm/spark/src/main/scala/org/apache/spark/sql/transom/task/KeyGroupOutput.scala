package org.apache.spark.sql.transom.task

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

import transom.engine.operator.{Gauges, KeyGroupOperator, RowCounts, TouchedWindows}
import transom.engine.time.Watermark

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
  *   the metrics that are not sums, see [[GaugeRow]]; none if the operator does not know them
  */
final class KeyGroupMetrics(val counts: RowCounts, val gauges: Option[Row])

/** Reads the metrics of key groups. */
object KeyGroupMetrics {

  /** The metrics of a key group that has processed its batch; none if there are none. */
  def of(
      group: Int,
      operator: KeyGroupOperator[_],
      partitionId: Array[Byte] => String): Option[KeyGroupMetrics] = {
    val gauges = operator.gauges.map(GaugeRow.of(group, _, partitionId))
    Option.unless(operator.counts.isEmpty && gauges.isEmpty)(
      new KeyGroupMetrics(operator.counts, gauges))
  }
}

/** The gauges of a key group as a row, because the driver may not know classes of transom when it
  * reads the results of a task.
  */
object GaugeRow {

  /** Creates a row.
    *
    * @param partitionId
    *   the text of a partition's id
    */
  def of(group: Int, gauges: Gauges, partitionId: Array[Byte] => String): Row = Row(
    group,
    gauges.watermark.map(Long.box).orNull,
    gauges.open.map(open => Long.box(open.earliest)).orNull,
    gauges.open.map(open => Long.box(open.latest)).orNull,
    gauges.partitions.map { partition =>
      val watermark = Option(partition.watermark).filter(_ != Watermark.NotYet)
      Row(partitionId(partition.source), watermark.map(Long.box).orNull, partition.isIdle)
    },
    gauges.rowsOpen.map(Long.box).orNull,
    gauges.touched.map { windows =>
      Row(
        windows.reached,
        windows.closings.iterator.map { case (start, closing) => Row(start, closing) }.toSeq)
    }.orNull,
    gauges.partitionCount)

  def group(gauges: Row): Int = gauges.getInt(0)

  def watermark(gauges: Row): Option[Long] = long(gauges, 1)

  /** The earliest and the latest start of the open windows. */
  def open(gauges: Row): Option[(Long, Long)] =
    long(gauges, 2).zip(long(gauges, 3))

  /** The number of the input's partitions. */
  def partitionCount(gauges: Row): Long = gauges.getInt(7).toLong

  /** Rows of id, watermark or null, and whether the partition is idle. */
  def partitions(gauges: Row): Seq[Row] = gauges.getSeq[Row](4)

  /** The number of rows that wait for the row with their end, if rows wait. */
  def rowsOpen(gauges: Row): Option[Long] = long(gauges, 5)

  /** The open windows of the touched keys, if the operator knows them. */
  def touched(gauges: Row): Option[TouchedWindows] = Option(gauges.getStruct(6)).map { windows =>
    new TouchedWindows(
      windows.getLong(0),
      windows.getSeq[Row](1).map(each => each.getLong(0) -> each.getLong(1)).toMap)
  }

  private def long(gauges: Row, field: Int): Option[Long] =
    Option.unless(gauges.isNullAt(field))(gauges.getLong(field))
}
