package org.apache.spark.sql.transom.message

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.transom.message.MessageWriter.{nameOf, obj}

import transom.engine.firing._

/** Reads and writes the triggers and evictors of the message. */
private[message] object TriggerCodec {

  private val clockNames =
    Seq("event" -> TriggerClock.Event, "processing" -> TriggerClock.Processing)
  private val whenNames = Seq("before" -> Eviction.Before, "after" -> Eviction.After)

  def readTrigger(m: MessageObject): Trigger = {
    def nested(name: String): Trigger = m.obj(name).readAll(readTrigger)
    m.kind match {
      case "after_watermark" =>
        AfterWatermark(m.optional("early")(nested), m.optional("late")(nested))
      case "after_clock" => AfterClock
      case "after_lateness" => AfterLateness
      case "after_count" => AfterCount(m.int("rows"))
      case "after_delta" => AfterDelta(m.column("delta_column"), m.double("threshold"))
      case "every" =>
        Every(m.duration("interval_us"), m.choice("clock", clockNames), m.boolean("aligned"))
      case "when" => When(m.column("condition_column"))
      case "every_batch" => EveryBatch
      case "end_of_stream" => EndOfStream
      case "never" => Never
      case "purging" => Purging(nested("trigger"))
      case "processing_timeout" =>
        ProcessingTimeout(
          nested("trigger"),
          m.duration("after_us"),
          m.boolean("reset"),
          m.boolean("clear"))
      case _ => throw m.unknownKind
    }
  }

  def writeTrigger(trigger: Trigger): ObjectNode = trigger match {
    case AfterWatermark(early, late) =>
      obj(
        "kind" -> "after_watermark",
        "early" -> early.map(writeTrigger),
        "late" -> late.map(writeTrigger))
    case AfterClock => obj("kind" -> "after_clock")
    case AfterLateness => obj("kind" -> "after_lateness")
    case AfterCount(rows) => obj("kind" -> "after_count", "rows" -> rows)
    case AfterDelta(column, threshold) =>
      obj("kind" -> "after_delta", "delta_column" -> column, "threshold" -> threshold)
    case Every(interval, clock, aligned) =>
      obj(
        "kind" -> "every",
        "interval_us" -> interval,
        "clock" -> nameOf(clock, clockNames),
        "aligned" -> aligned)
    case When(column) => obj("kind" -> "when", "condition_column" -> column)
    case EveryBatch => obj("kind" -> "every_batch")
    case EndOfStream => obj("kind" -> "end_of_stream")
    case Never => obj("kind" -> "never")
    case Purging(inner) => obj("kind" -> "purging", "trigger" -> writeTrigger(inner))
    case ProcessingTimeout(inner, after, reset, clear) =>
      obj(
        "kind" -> "processing_timeout",
        "trigger" -> writeTrigger(inner),
        "after_us" -> after,
        "reset" -> reset,
        "clear" -> clear)
  }

  def readEvictor(m: MessageObject): Evictor = {
    def when = m.choice("when", whenNames)
    m.kind match {
      case "keep_last" => KeepLast(m.int("rows"), when)
      case "keep_recent" => KeepRecent(m.duration("within_us"), when)
      case "keep_near" => KeepNear(m.column("delta_column"), m.double("threshold"), when)
      case "keep_where" => KeepWhere(m.column("condition_column"), when)
      case _ => throw m.unknownKind
    }
  }

  def writeEvictor(evictor: Evictor): ObjectNode = {
    val written = evictor match {
      case KeepLast(rows, _) => obj("kind" -> "keep_last", "rows" -> rows)
      case KeepRecent(within, _) => obj("kind" -> "keep_recent", "within_us" -> within)
      case KeepNear(column, threshold, _) =>
        obj("kind" -> "keep_near", "delta_column" -> column, "threshold" -> threshold)
      case KeepWhere(column, _) => obj("kind" -> "keep_where", "condition_column" -> column)
    }
    written.put("when", nameOf(evictor.when, whenNames))
  }
}
