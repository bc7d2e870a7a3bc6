package org.apache.spark.sql.transom

import org.apache.spark.sql.streaming.StatefulProcessorHandle

/** The one timer of Spark's that a key group has. */
object GroupTimer {
  private final val First = 1L

  /** Where it stands, in milliseconds, when something is due at a watermark in microseconds. What
    * is due before 1970 waits for the first watermark: at 0, Spark's value before there is one, a
    * timer would expire in every batch.
    */
  def at(timer: Long): Option[Long] =
    if (timer == Long.MaxValue) None else Some(math.max(First, -Math.floorDiv(-timer, 1000L)))

  def move(handle: StatefulProcessorHandle, from: Option[Long], to: Option[Long]): Unit =
    if (from != to) {
      from.foreach(handle.deleteTimer)
      to.foreach(handle.registerTimer)
    }
}
