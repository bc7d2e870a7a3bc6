package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.Row

import transom.engine.runtime.RowCounts

/** The metrics of an operator in a batch.
  *
  * @param counts
  *   the sum of each count, see [[RowCounts]]
  * @param gauges
  *   a row for each key group that the batch has touched, see `GaugeRow`
  */
final class BatchMetrics(val counts: Seq[Long], val gauges: Seq[Row])

/** Collects the metrics of the tasks of a batch. The rows are of classes of Spark and Scala,
  * because the driver may not know classes of transom when it reads the results of a task.
  */
object BatchMetrics {

  /** The metrics of a task that has processed all its key groups. */
  def ofTask(partition: Int, counts: Array[Long], gauges: Seq[Row]): Row =
    Row(partition, counts, gauges)

  /** The metrics of a batch.
    *
    * Spark runs a finished task again if its shuffle files are lost, or if a second action reads
    * the batch. So only the last task of each partition counts.
    *
    * @param tasks
    *   the metrics of all tasks that have succeeded, in the order in which they ended
    */
  def of(tasks: Seq[Row]): BatchMetrics = {
    val last = tasks.map(task => task.getInt(0) -> task).toMap.values.toVector
    val counts = last.map(_.getAs[Array[Long]](1))
    new BatchMetrics(
      RowCounts.all.map(count => counts.map(_(count.index)).sum),
      last.flatMap(_.getSeq[Row](2)))
  }
}
