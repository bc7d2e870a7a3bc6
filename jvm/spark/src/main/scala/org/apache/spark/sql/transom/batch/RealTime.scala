package org.apache.spark.sql.transom.batch

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.util.VersionUtils

import transom.engine.firing.EveryBatch
import transom.engine.spec.Punctuated

/** Says which operators run in queries with the real-time trigger. */
object RealTime {

  /** Whether the query that runs on the current thread has the real-time trigger. */
  def isRunning(session: SparkSession): Boolean =
    LateWatermark.runningQuery(session).exists(_.trigger.isInstanceOf[RealTimeTrigger])

  /** Throws `TRANSOM_REAL_TIME` if the query that runs on the current thread has the real-time
    * trigger. Called on the driver before the first batch runs, for what does not run in this
    * mode. Spark's own checks come later. Their errors name other causes.
    *
    * @param part
    *   what does not run
    */
  def refuse(session: SparkSession, operator: String, part: String): Unit =
    if (isRunning(session)) throw refusal(operator, part)

  def refusal(operator: String, part: String): TransomException =
    new TransomException("TRANSOM_REAL_TIME", Map("operator" -> operator, "part" -> part))

  /** Throws `TRANSOM_REAL_TIME` if an operator cannot run in this mode. */
  def check(operator: WindowOperatorPlan): Unit = {
    import operator.spec
    def refuse(isSet: Boolean, part: String): Unit =
      if (isSet) throw refusal(operator.name, part)
    val (major, minor) = VersionUtils.majorMinorVersion(SPARK_VERSION)
    refuse(major == 4 && minor < 3, s"PySpark $SPARK_VERSION")
    refuse(spec.orderColumns.nonEmpty, "stream(order=)")
    refuse(spec.drain, "drain()")
    refuse(spec.lifetime.isDefined, "lifetime()")
    refuse(spec.isSwept, s"${spec.window.productPrefix}()")
    refuse(spec.trigger.parts.contains(EveryBatch), "EveryBatch")
    refuse(spec.function.isCalled, "apply()")
    refuse(spec.idleTimeout.isDefined, "idle_timeout=")
    refuse(spec.watermarks, "with_watermarks()")
    spec.policy.foreach { policy =>
      refuse(policy.overColumns.nonEmpty, "TimePolicy(over=)")
      refuse(policy.partitions.nonEmpty, "TimePolicy(partitions=)")
      refuse(policy.estimateArrival, "TimePolicy(estimate_arrival=)")
      refuse(policy.advance.isInstanceOf[Punctuated], "Punctuated()")
      refuse(policy.advance.periodic.flatMap(_.rows).exists(_ > 1), "Periodic() of several rows")
      refuse(
        policy.arrivalColumn.isEmpty && (policy.early.isDefined || policy.late.isDefined),
        "an early or late rule without TimePolicy(arrival=)")
    }
  }
}
