package org.apache.spark.sql.transom.batch

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.transom.error.TransomException

/** Refuses operators in queries with the real-time trigger. */
object RealTime {

  /** Throws `TRANSOM_REAL_TIME` if the query that runs on the current thread has the real-time
    * trigger. Called on the driver before the first batch runs.
    *
    * Such a query has one long batch, but windows fire between batches. Spark's own checks come
    * later. Their errors name other causes.
    */
  def refuse(session: SparkSession, operator: String): Unit =
    if (LateWatermark.runningQuery(session).exists(_.trigger.isInstanceOf[RealTimeTrigger]))
      throw new TransomException("TRANSOM_REAL_TIME", Map("operator" -> operator))
}
