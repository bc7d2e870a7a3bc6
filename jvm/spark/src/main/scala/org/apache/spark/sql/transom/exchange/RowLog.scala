package org.apache.spark.sql.transom.exchange

import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.{Collections, LinkedHashMap}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.judge.PolicyRules
import transom.engine.time.Watermark

/** Logs the rows that a rule drops or moves, without their contents.
  *
  * All tasks of an operator in an executor share a budget of records per minute. Times are
  * microseconds since 1970.
  *
  * @param perMinute
  *   the largest number of records per minute
  */
final class RowLog(operator: String, perMinute: Int, budget: LogBudget) extends Logging {

  /** Logs a row that counts in no window.
    *
    * @param time
    *   the time of the row, if it has a usable one
    * @param watermark
    *   the watermark that the row met, or `Watermark.NotYet`
    */
  def dropped(reason: String, time: Option[Long], watermark: Long): Unit =
    log("dropped", reason, time, watermark)

  /** Logs a row that has a new time.
    *
    * @param rules
    *   the rules that the row broke
    * @param time
    *   the new time
    */
  def moved(rules: PolicyRules, time: Long, watermark: Long): Unit =
    log("moved", rules.toSeq.mkString(","), Some(time), watermark)

  private def log(action: String, reason: String, time: Option[Long], watermark: Long): Unit =
    if (budget.take(perMinute, System.currentTimeMillis())) {
      val met = Some(watermark).filter(_ != Watermark.NotYet)
      logWarning(
        s"operator=$operator action=$action reason=$reason time=${RowLog.text(time)} " +
          s"watermark=${RowLog.text(met)}")
    }
}

/** Creates logs. */
object RowLog {
  private final val MostOperators = 1000

  private val budgets = Collections.synchronizedMap(new LinkedHashMap[String, LogBudget] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, LogBudget]): Boolean =
      size > MostOperators
  })

  /** The log of an operator in a task; null if it logs no rows. */
  def of(plan: WindowOperatorPlan): RowLog =
    if (plan.spec.rowLog == 0) null
    else
      new RowLog(
        plan.name,
        plan.spec.rowLog,
        budgets.computeIfAbsent(s"${plan.query} ${plan.name}", _ => new LogBudget))

  private def text(time: Option[Long]): String =
    time.fold("none")(Instant.EPOCH.plus(_, ChronoUnit.MICROS).toString)
}

/** A number of log records per minute. Thread-safe. */
final class LogBudget {
  // Most rows come while no record is left. They take no lock.
  @volatile private var emptyUntil = Long.MinValue
  private var start = Long.MinValue
  private var used = 0

  /** Whether another record may be logged. A minute starts with its first record.
    *
    * @param nowMs
    *   the wall clock, milliseconds since 1970
    */
  def take(perMinute: Int, nowMs: Long): Boolean = nowMs >= emptyUntil && synchronized {
    if (start == Long.MinValue || nowMs - start >= LogBudget.MinuteMs) {
      start = nowMs
      used = 0
    }
    val isLeft = used < perMinute
    if (isLeft) used += 1
    if (used == perMinute) emptyUntil = start + LogBudget.MinuteMs
    isLeft
  }
}

private object LogBudget {
  final val MinuteMs = 60000L
}
