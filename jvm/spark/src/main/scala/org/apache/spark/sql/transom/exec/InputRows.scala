package org.apache.spark.sql.transom.exec

import scala.collection.AbstractIterator

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils.microsToMillis
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.streaming.operators.stateful._
import org.apache.spark.sql.types.TimestampType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

/** Reads the input rows of a map side, without building rows from columnar input.
  *
  * Spark would build a row from each row of a columnar scan, and another row for the watermark.
  * Here a row is a view of the columns, and the watermark's statistics are updated once per batch
  * of columns.
  */
object InputRows {

  /** The rows of a plan. Each row is valid until the next row is read.
    *
    * If the event time of a watermark is a window, Spark's own node handles the watermark.
    */
  def of(plan: SparkPlan): RDD[InternalRow] = plan match {
    // The rows of an operator are read as they are.
    case WholeStageCodegenExec(node: ResultRowsExec) => node.inputRDD
    case node: ResultRowsExec => node.inputRDD
    case node: EventTimeWatermarkExec if node.eventTime.dataType == TimestampType =>
      toRows(node.child).fold(node.execute()) { columns =>
        val timeAt = columns.output.indexWhere(_.exprId == node.eventTime.exprId)
        val times = node.eventTimeStats
        views(columns, batch => times.merge(statisticsOf(batch.column(timeAt), batch.numRows)))
      }
    case other => toRows(other).fold(other.execute())(views(_, _ => ()))
  }

  private def toRows(plan: SparkPlan): Option[ColumnarToRowExec] = plan match {
    case WholeStageCodegenExec(node: ColumnarToRowExec) => Some(node)
    case node: ColumnarToRowExec => Some(node)
    case _ => None
  }

  private def views(node: ColumnarToRowExec, observe: ColumnarBatch => Unit): RDD[InternalRow] = {
    val rows = node.longMetric("numOutputRows")
    val batches = node.longMetric("numInputBatches")
    val scan = node.child match {
      case InputAdapter(columnar) => columnar
      case columnar => columnar
    }
    scan.executeColumnar().mapPartitionsInternal { columns =>
      new ColumnViews(columns.map { batch =>
        rows += batch.numRows
        batches += 1
        observe(batch)
        batch
      })
    }
  }

  /** Event-time statistics of a column, as Spark's own node collects them. A null counts as 1970.
    */
  private def statisticsOf(times: ColumnVector, rows: Int): EventTimeStatsAccum = {
    var max = Long.MinValue
    var min = Long.MaxValue
    var sum = 0.0
    var at = 0
    while (at < rows) {
      val time = if (times.isNullAt(at)) 0L else microsToMillis(times.getLong(at))
      if (time > max) max = time
      if (time < min) min = time
      sum += time
      at += 1
    }
    new EventTimeStatsAccum(
      if (rows == 0) EventTimeStats.zero else EventTimeStats(max, min, sum / rows, rows))
  }
}

/** Iterates over the rows of columnar batches. Each row is valid until the next row is read. */
private final class ColumnViews(batches: Iterator[ColumnarBatch])
    extends AbstractIterator[InternalRow] {
  private var batch: ColumnarBatch = _
  private var until = 0
  private var at = 0

  override def hasNext: Boolean = {
    while (at == until && batches.hasNext) {
      batch = batches.next()
      until = batch.numRows
      at = 0
    }
    at < until
  }

  override def next(): InternalRow =
    if (!hasNext) throw new NoSuchElementException("no further row")
    else {
      val row = batch.getRow(at)
      at += 1
      row
    }
}
