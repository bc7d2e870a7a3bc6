package org.apache.spark.sql.transom.realtime

import org.apache.spark.sql.Row

import transom.engine.runtime.{OpenStarts, RowCounts}
import transom.engine.time.Watermark

/** What a task of the operator reports at the end of a batch, for the metrics of the query. */
private[realtime] final class TaskReport {

  /** Counts the rows of the task by outcome. */
  val counts: RowCounts = new RowCounts
  private val latencies = new Array[Long](TaskReport.LatencyBoundsMs.length)

  /** Counts a result.
    *
    * @param latencyMs
    *   milliseconds from the arrival of the row that caused the result, to the result
    */
  def count(latencyMs: Long): Unit = {
    var i = 0
    while (latencyMs > TaskReport.LatencyBoundsMs(i)) i += 1
    latencies(i) += 1
  }

  /** The report as a row, see `TaskReport.columns`.
    *
    * @param watermark
    *   the watermark by which windows have fired, microseconds since 1970, or `Watermark.NotYet`
    * @param open
    *   the starts of the open windows of each key group, if they are known
    * @param stateBytes
    *   bytes of the state on the heap
    */
  def row(watermark: Long, open: Seq[OpenStarts], stateBytes: Long): Row = {
    val reached = Option.when(watermark != Watermark.NotYet)(watermark)
    Row.fromSeq(
      counts.toSeq ++ latencies ++ Seq(
        orNull(reached),
        orNull(reached.map(System.currentTimeMillis() * 1000L - _)),
        orNull(open.map(_.earliest).minOption),
        orNull(open.map(_.latest).maxOption),
        stateBytes))
  }

  private def orNull(value: Option[Long]): Any = value.map(Long.box).orNull
}

/** The form of a report: a row of numbers, because the driver may not know classes of transom
  * when it reads the results of a task.
  */
object TaskReport {

  /** The upper bounds of the classes of latencies, in milliseconds. */
  val LatencyBoundsMs: IndexedSeq[Long] =
    Vector(5L, 10L, 20L, 50L, 100L, 200L, 500L, 1000L, 2000L, 5000L, Long.MaxValue)

  /** The names of the columns that count the results of each class. */
  val LatencyNames: IndexedSeq[String] = LatencyBoundsMs.map(bound => s"results_within_$bound")

  /** The counts, the results by latency, and then what is no sum. */
  val columns: IndexedSeq[String] = RowCounts.all.map(_.name).toVector ++ LatencyNames ++
    Seq("watermark_us", "watermark_delay_us", "earliest_open_us", "latest_open_us", "state_bytes")
}
