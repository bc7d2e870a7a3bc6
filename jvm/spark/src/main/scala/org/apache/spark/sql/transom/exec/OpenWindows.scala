package org.apache.spark.sql.transom.exec

import java.util.UUID

import scala.collection.mutable

/** Remembers the open windows of the key groups of an operator, on the driver.
  *
  * A batch reports only the key groups that it has touched. The open windows of all other key
  * groups are as they were. After a restart a key group counts once a batch has touched it.
  */
final class OpenWindows {
  private var run: UUID = _
  private val byGroup = mutable.HashMap.empty[Int, (Long, Long)]

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
      if (run != this.run) byGroup.clear()
      this.run = run
      touched.foreach { case (group, open) => byGroup.updateWith(group)(_ => open) }
      Option.when(byGroup.nonEmpty)(
        (byGroup.valuesIterator.map(_._1).min, byGroup.valuesIterator.map(_._2).max))
    }

  // Spark prints this text with each node of a plan.
  override def toString: String = "open windows"
}
