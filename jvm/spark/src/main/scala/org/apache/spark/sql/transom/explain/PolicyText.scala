package org.apache.spark.sql.transom.explain

import transom.engine.setting.Durations
import transom.engine.spec._

/** Describes time policies for people. */
private object PolicyText {

  /** @param columns
    *   the text of a column of the message, by index
    */
  def of(policy: TimePolicy, columns: Int => String): String = {
    val arrival = policy.arrivalColumn.fold("the time of the micro-batch")(columns)
    val sources = policy.partitionColumn.map(column => s"partition ${columns(column)}") ++
      Option.when(policy.overColumns.nonEmpty)(
        s"substream ${policy.overColumns.map(columns).mkString(", ")}")
    val parts = Seq(
      policy.timeColumn.fold("the arrival")(columns),
      s"arrival $arrival",
      if (sources.isEmpty) "a single source" else s"sources by ${sources.mkString(" and ")}") ++
      policy.early.map(rule => s"early rows ${action(rule)} the arrival") ++
      policy.late.map(rule => s"late rows ${action(rule)} the arrival") :+
      s"out of order rows ${action(policy.outOfOrder)} the latest time" :+
      s"the watermark ${advance(policy.advance, columns)}"
    val silent =
      policy.idlePartitionUs.map(us => s"a partition is idle after ${Durations.text(us)}") ++
        Option.when(policy.estimateArrival)("the arrival is estimated while no rows arrive")
    (parts ++ silent).mkString(", ")
  }

  private def action(rule: TimeRule): String = {
    val verb = rule match {
      case _: Accept => "accepted"
      case _: Drop => "dropped"
      case _: Adjust => "adjusted"
    }
    s"$verb beyond ${Durations.text(rule.beyondUs)} from"
  }

  private def advance(advance: AdvanceRule, columns: Int => String): String = advance match {
    case Periodic(number, span) =>
      val steps = number.map(rows => if (rows == 1) "each row" else s"every $rows rows") ++
        span.map(us => s"every ${Durations.text(us)}")
      s"advances with ${steps.mkString(" and ")}"
    case Punctuated(when, at, beside) =>
      val others = beside.map(periodic => s", and ${this.advance(periodic, columns)}")
      s"advances to ${columns(at)} with each row where ${columns(when)}${others.mkString}"
  }
}
