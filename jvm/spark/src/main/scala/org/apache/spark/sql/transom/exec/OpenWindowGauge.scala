package org.apache.spark.sql.transom.exec

import java.util.{UUID, WeakHashMap}

import scala.collection.mutable

import transom.engine.runtime.{OpenByKeys, TouchedWindows}

/** Remembers the open windows and the open rows of the key groups of an operator, on the driver.
  *
  * A batch reports only the key groups that it has touched. All other key groups are as they
  * were. After a restart a key group counts once a batch has touched it.
  *
  * One DataFrame may be started several times, so each run of a query has its own memory. The
  * memory lasts as long as the run's id, which the query holds.
  */
final class OpenWindowGauge {
  private val byRun = new WeakHashMap[UUID, OpenInRun]

  /** Notes the key groups of a batch, and returns the earliest and the latest start of all open
    * windows. Times are microseconds since 1970.
    *
    * @param run
    *   the run of the query to which the batch belongs
    * @param touched
    *   the key groups of the batch, each with the earliest and the latest start of its open
    *   windows, if it has any
    */
  def after(run: UUID, touched: Seq[(Int, Option[(Long, Long)])]): Option[(Long, Long)] =
    synchronized {
      val all = in(run).starts.after(touched)
      Option.when(all.nonEmpty)((all.map(_._1).min, all.map(_._2).max))
    }

  /** Notes the windows of the keys that a batch has touched, and returns the earliest and the
    * latest start of all open windows. After a restart a key counts once a batch has touched it.
    */
  def afterTouching(run: UUID, touched: Seq[TouchedWindows]): Option[(Long, Long)] =
    synchronized(in(run).byKeys.after(touched).map(open => (open.earliest, open.latest)))

  /** Notes the key groups of a batch, and returns the number of all rows that wait for the row
    * with their end.
    */
  def rowsAfter(run: UUID, touched: Seq[(Int, Option[Long])]): Long =
    synchronized(in(run).rows.after(touched).sum)

  private def in(run: UUID): OpenInRun = byRun.computeIfAbsent(run, _ => new OpenInRun)

  // Spark prints this text with each node of a plan.
  override def toString: String = "open windows"
}

/** The open windows and the open rows of a run. */
private final class OpenInRun {
  val starts = new LatestGauges[(Long, Long)]
  val rows = new LatestGauges[Long]
  val byKeys = new OpenByKeys
}

/** The last gauge that each key group has reported. */
private final class LatestGauges[T] {
  private val byGroup = mutable.HashMap.empty[Int, T]

  /** Notes the gauges of a batch, and returns those of all key groups. */
  def after(touched: Seq[(Int, Option[T])]): Seq[T] = {
    touched.foreach { case (group, gauge) => byGroup.updateWith(group)(_ => gauge) }
    byGroup.values.toVector
  }
}
