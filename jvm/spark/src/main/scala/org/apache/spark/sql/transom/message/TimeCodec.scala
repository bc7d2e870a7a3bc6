package org.apache.spark.sql.transom.message

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.transom.message.MessageWriter.{nameOf, obj}

import transom.engine.spec._

/** Reads and writes the times of the message. */
private[message] object TimeCodec {

  def read(m: MessageObject): Time = m.kind match {
    case "event_time" => EventTime(m.column("time_column"), m.optional("delay_us")(m.duration))
    case "processing_time" => ProcessingTime
    case "time_policy" => readPolicy(m)
    case _ => throw m.unknownKind
  }

  def readPolicy(m: MessageObject): TimePolicy = {
    def rule(name: String): Option[TimeRule] = m.optional(name)(m.obj(_).readAll(readRule))
    if (m.kind != "time_policy") throw m.unknownKind
    TimePolicy(
      timeColumn = m.optional("time_column")(m.column),
      arrivalColumn = m.optional("arrival_column")(m.column),
      partitionColumn = m.optional("partition_column")(m.column),
      partitions = m.texts("partitions"),
      overColumns = m.columns("over_columns"),
      early = rule("early"),
      late = rule("late"),
      outOfOrder = m.obj("out_of_order").readAll(readRule),
      advance = m.obj("advance").readAll(readAdvance),
      idlePartitionUs = m.optional("idle_partition_us")(m.duration),
      estimateArrival = m.boolean("estimate_arrival"))
  }

  private def readRule(m: MessageObject): TimeRule = {
    val beyond = m.duration("beyond_us")
    m.kind match {
      case "accept" => Accept(beyond)
      case "drop" => Drop(beyond)
      case "adjust" => Adjust(beyond)
      case _ => throw m.unknownKind
    }
  }

  private def readAdvance(m: MessageObject): AdvanceRule = m.kind match {
    case "punctuated" =>
      Punctuated(
        m.column("when_column"),
        m.column("at_column"),
        m.optional("beside")(m.obj(_).readAll(readPeriodic)))
    case _ => readPeriodic(m)
  }

  private def readPeriodic(m: MessageObject): Periodic = m.kind match {
    case "periodic" =>
      Periodic(m.optional("rows")(m.int), m.optional("every_us")(m.duration))
    case _ => throw m.unknownKind
  }

  def write(time: Time): ObjectNode = time match {
    case EventTime(column, delay) =>
      obj("kind" -> "event_time", "time_column" -> column, "delay_us" -> delay)
    case ProcessingTime => obj("kind" -> "processing_time")
    case policy: TimePolicy =>
      obj(
        "kind" -> "time_policy",
        "time_column" -> policy.timeColumn,
        "arrival_column" -> policy.arrivalColumn,
        "partition_column" -> policy.partitionColumn,
        "partitions" -> policy.partitions,
        "over_columns" -> policy.overColumns,
        "early" -> policy.early.map(writeRule),
        "late" -> policy.late.map(writeRule),
        "out_of_order" -> writeRule(policy.outOfOrder),
        "advance" -> write(policy.advance),
        "idle_partition_us" -> policy.idlePartitionUs,
        "estimate_arrival" -> policy.estimateArrival)
  }

  private def write(advance: AdvanceRule): ObjectNode = advance match {
    case Periodic(rows, every) => obj("kind" -> "periodic", "rows" -> rows, "every_us" -> every)
    case Punctuated(when, at, beside) =>
      obj(
        "kind" -> "punctuated",
        "when_column" -> when,
        "at_column" -> at,
        "beside" -> beside.map(write))
  }

  def readLifetime(m: MessageObject): Lifetime =
    if (m.kind != "lifetime") throw m.unknownKind
    else
      Lifetime(
        m.optional("end_column")(m.column),
        m.optional("duration_us")(m.duration),
        m.optional("duration_column")(m.column),
        m.columns("id_columns"),
        m.optional("timeout_us")(m.duration))

  def write(lifetime: Lifetime): ObjectNode =
    obj(
      "kind" -> "lifetime",
      "end_column" -> lifetime.endColumn,
      "duration_us" -> lifetime.durationUs,
      "duration_column" -> lifetime.durationColumn,
      "id_columns" -> lifetime.idColumns,
      "timeout_us" -> lifetime.timeoutUs)

  private val idleRuleNames = Seq(
    "after_window_end" -> IdleRule.AfterWindowEnd,
    "greater_of" -> IdleRule.GreaterOf,
    "last_row" -> IdleRule.LastRow)

  def readIdleTimeout(m: MessageObject): IdleTimeout =
    if (m.kind != "idle_timeout") throw m.unknownKind
    else IdleTimeout(m.duration("after_us"), m.choice("rule", idleRuleNames))

  def write(timeout: IdleTimeout): ObjectNode =
    obj(
      "kind" -> "idle_timeout",
      "after_us" -> timeout.afterUs,
      "rule" -> nameOf(timeout.rule, idleRuleNames))

  private def writeRule(rule: TimeRule): ObjectNode = {
    val kind = rule match {
      case _: Accept => "accept"
      case _: Drop => "drop"
      case _: Adjust => "adjust"
    }
    obj("kind" -> kind, "beyond_us" -> rule.beyondUs)
  }
}
