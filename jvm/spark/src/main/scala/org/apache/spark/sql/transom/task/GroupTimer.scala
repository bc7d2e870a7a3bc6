package org.apache.spark.sql.transom.task

import org.apache.spark.sql.streaming.StatefulProcessorHandle

/** The single Spark timer of a key group. */
object GroupTimer {
  private final val First = 1L

  /** The time of the Spark timer in milliseconds, rounded up, or None if there is none.
    *
    * A timer before 1970 waits for the first watermark. Until then, Spark's watermark is 0, so a
    * timer at 0 would expire in every batch.
    *
    * @param timer
    *   event watermark of the next timer, microseconds, or `Long.MaxValue` for none
    */
  def at(timer: Long): Option[Long] =
    if (timer == Long.MaxValue) None else Some(math.max(First, -Math.floorDiv(-timer, 1000L)))

  /** Replaces the Spark timer of the current key group, if the time differs. */
  def move(handle: StatefulProcessorHandle, from: Option[Long], to: Option[Long]): Unit =
    if (from != to) {
      from.foreach(handle.deleteTimer)
      to.foreach(handle.registerTimer)
    }
}
