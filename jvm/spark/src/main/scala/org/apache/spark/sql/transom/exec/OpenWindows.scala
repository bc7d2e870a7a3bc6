package org.apache.spark.sql.transom.exec

import java.util.UUID

import scala.collection.mutable

import transom.engine.operator.{OpenByKeys, TouchedWindows}

/** Remembers the open windows and the open rows of the key groups of an operator, on the driver.
  *
  * A batch reports only the key groups that it has touched. All other key groups are as they
  * were. After a restart a key group counts once a batch has touched it.
  */
final class OpenWindows {
  private val starts = new LatestGauges[(Long, Long)]
  private val rows = new LatestGauges[Long]
  private var run: UUID = _
  private var byKeys = new OpenByKeys

  /** Notes the key groups of a batch, and returns the earliest and the latest start of all open
    * windows. Times are microseconds since 1970.
    *
    * @param run
    *   the run of the query to which the batch belongs
    * @param touched
    *   the key groups of the batch, each with the earliest and the latest start of its open
    *   windows, if it has any
    */
  def after(run: UUID, touched: Seq[(Int, Option[(Long, Long)])]): Option[(Long, Long)] = {
    val all = starts.after(run, touched)
    Option.when(all.nonEmpty)((all.map(_._1).min, all.map(_._2).max))
  }

  /** Notes the windows of the keys that a batch has touched, and returns the earliest and the
    * latest start of all open windows. After a restart a key counts once a batch has touched it.
    */
  def afterTouching(run: UUID, touched: Seq[TouchedWindows]): Option[(Long, Long)] =
    synchronized {
      if (run != this.run) byKeys = new OpenByKeys
      this.run = run
      byKeys.after(touched).map(open => (open.earliest, open.latest))
    }

  /** Notes the key groups of a batch, and returns the number of all rows that wait for the row
    * with their end.
    */
  def rowsAfter(run: UUID, touched: Seq[(Int, Option[Long])]): Long = rows.after(run, touched).sum

  // Spark prints this text with each node of a plan.
  override def toString: String = "open windows"
}

/** The last gauge that each key group has reported in a run. */
private final class LatestGauges[T] {
  private var run: UUID = _
  private val byGroup = mutable.HashMap.empty[Int, T]

  /** Notes the gauges of a batch, and returns those of all key groups. */
  def after(run: UUID, touched: Seq[(Int, Option[T])]): Seq[T] = synchronized {
    if (run != this.run) byGroup.clear()
    this.run = run
    touched.foreach { case (group, gauge) => byGroup.updateWith(group)(_ => gauge) }
    byGroup.values.toVector
  }
}
