package org.apache.spark.sql.transom.batch

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.util.VersionUtils

import transom.engine.firing.EveryBatch
import transom.engine.spec.{Layout, Punctuated, TimePolicy}

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
    * @param why
    *   a reason, as a part of a sentence
    * @param fix
    *   what to write instead, as a sentence without its full stop
    */
  def refuse(
      session: SparkSession,
      operator: String,
      part: String,
      why: String,
      fix: String): Unit =
    if (isRunning(session)) throw refusal(operator, part, why, fix)

  def refusal(operator: String, part: String, why: String, fix: String): TransomException =
    new TransomException(
      "TRANSOM_REAL_TIME",
      Map("operator" -> operator, "part" -> part, "why" -> why, "fix" -> fix))

  /** Throws `TRANSOM_REAL_TIME` if an operator cannot run in this mode. */
  def check(operator: WindowOperatorPlan): Unit = {
    import operator.spec
    def refuse(isSet: Boolean, part: String, why: String, fix: String): Unit =
      if (isSet) throw refusal(operator.name, part, why, fix)
    val (major, minor) = VersionUtils.majorMinorVersion(SPARK_VERSION)
    refuse(
      major == 4 && minor < 3,
      s"PySpark $SPARK_VERSION",
      "the mode of this version has no stateful operators",
      "Use PySpark 4.3")
    refuse(
      spec.orderColumns.nonEmpty,
      "stream(order=)",
      "rows of several sources come in no order",
      "Use aggregates that do not depend on the order, such as max_by()")
    refuse(
      spec.drain,
      "drain()",
      "the input has no end in this mode",
      "Drain a copy of the query in micro-batches")
    refuse(
      spec.window.isSession && spec.layout == Layout.Slices,
      "layout='slices' of sessions",
      "a session may close between two rows of a batch",
      "Leave the layout out")
    refuse(
      spec.lifetime.isDefined,
      "lifetime()",
      "lifetimes need the rows of a key in one order",
      "Use micro-batches")
    refuse(
      spec.isSwept,
      s"${spec.window.productPrefix}()",
      "such windows need the rows of a key in one order",
      "Use micro-batches, or Hopping()")
    refuse(
      spec.trigger.parts.contains(EveryBatch),
      "EveryBatch",
      "a batch lasts for minutes in this mode",
      "Use AfterCount() or Every()")
    refuse(
      spec.function.isCalled,
      "apply()",
      "Spark runs no Python functions in this mode",
      "Use agg() with SQL functions")
    refuse(
      spec.watermarks,
      "with_watermarks()",
      "the tasks of the operator reach a watermark one after the other",
      "Use the ends of the windows that arrive")
    spec.policy.foreach { policy =>
      // The operator of a key group judges the rows of substreams, which come in their order.
      if (policy.overColumns.nonEmpty)
        refuse(
          policy.late.isDefined,
          "TimePolicy(over=) with late=",
          "the latest arrival of all sources moves the watermark of each substream",
          "Leave out late= or over=")
      else checkOfSources(policy)
      refuse(
        policy.arrivalColumn.isEmpty && (policy.early.isDefined || policy.late.isDefined),
        "an early or late rule without TimePolicy(arrival=)",
        "a batch lasts for minutes, and its time would be the arrival of all its rows",
        "Name the column with the arrival, such as Kafka's timestamp")
    }
    def checkOfSources(policy: TimePolicy): Unit = {
      refuse(
        policy.partitions.nonEmpty,
        "TimePolicy(partitions=)",
        "the sources are the partitions of the topic",
        "Leave the argument out")
      refuse(
        policy.estimateArrival,
        "TimePolicy(estimate_arrival=)",
        "an estimate needs all sources together",
        "Use TimePolicy(idle_partition=)")
      refuse(
        policy.advance.isInstanceOf[Punctuated],
        "Punctuated()",
        "the watermark follows the latest time of a source",
        "Use TimePolicy(out_of_order=), or over=")
      refuse(
        policy.advance.periodic.flatMap(_.rows).exists(_ > 1),
        "Periodic() of several rows",
        "each batch would count anew",
        "Use Periodic(every=) or over=, or leave it out")
    }
  }
}
