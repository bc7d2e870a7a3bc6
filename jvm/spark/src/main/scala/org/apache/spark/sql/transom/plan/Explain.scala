package org.apache.spark.sql.transom.plan

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exec.WindowMapSide
import org.apache.spark.sql.transom.operator.{KeyedLayout, LayoutChoice, OperatorSpec, SliceLayout, WindowOperatorPlan}

import transom.engine.spec.{AfterDelta, Count, EventTime, ProcessingTime, Window, WindowSpec}

/** Describes the window operators of a DataFrame and their execution, as JSON or as text. */
object Explain {

  def json(df: Dataset[Row]): String =
    OperatorSpec.pretty(OperatorSpec.array(operators(df).map(_.operatorPlan.spec.json)))

  def text(df: Dataset[Row]): String =
    operators(df).map(s => describeOperator(s.operatorPlan, s.isStreaming)).mkString("\n\n")

  private def operators(df: Dataset[Row]): Seq[WindowMapSide] = {
    val operators = WindowMapSide.allIn(df.queryExecution.analyzed)
    if (operators.isEmpty)
      throw new TransomException("TRANSOM_NOT_OURS", Map.empty[String, String])
    operators
  }

  private def describeOperator(operatorPlan: WindowOperatorPlan, isStreaming: Boolean): String = {
    val record = operatorPlan.spec.json
    val spec = record.get("spec")
    val columns = record.get("columns").elements.asScala.toSeq
    def column(index: JsonNode): String = {
      val found = columns(index.intValue)
      s"${found.get("sql").asText} ${found.get("type").asText}"
    }
    def list(indexes: JsonNode): String = indexes.elements.asScala.map(column).mkString(", ")
    val window = spec.get("window")
    val lines = Seq(
      "window" -> describe(window, column),
      "keys" -> Some(list(spec.get("key_columns")))
        .filter(_.nonEmpty)
        .getOrElse("none: all rows have the same key"),
      "time" -> time(operatorPlan.settings, spec.get("time"), column),
      "trigger" -> trigger(spec, column),
      "evictor" -> (if (spec.get("evictor").isNull) "none"
                    else describe(spec.get("evictor"), column)),
      aggregates(spec.get("function"), list),
      "late rows" -> lateRows(spec),
      "bad rows" -> (if (spec.get("dead_letters").booleanValue)
                       "counted, and emitted as dead letters"
                     else "counted"),
      "drain" -> drain(spec, isStreaming),
      "layout" -> layout(operatorPlan.choice),
      "key groups" -> spec.get("key_groups").asText,
      "state" -> ((operatorPlan.layout match {
        case SliceLayout => state(window)
        case KeyedLayout => keyedState(operatorPlan.settings)
      }) + (if (isStreaming) "" else "; in memory, for a static DataFrame")))
    (record.get("operator").asText +: lines.map { case (name, text) => f"  $name%-10s  $text" })
      .mkString("\n")
  }

  private def aggregates(function: JsonNode, list: JsonNode => String): (String, String) =
    if (function.get("kind").asText == "agg")
      "aggregates" -> list(function.get("aggregate_columns"))
    else {
      val inputs = list(function.get("agg_columns"))
      "function" -> s"in Python, takes ${if (inputs.isEmpty) "the rows of a window" else inputs}"
    }

  private def time(settings: WindowSpec, time: JsonNode, column: JsonNode => String): String = {
    val source = settings.time match {
      case None => "none"
      case Some(ProcessingTime) => "the wall clock"
      case Some(_: EventTime) => column(time.get("time_column"))
    }
    if (settings.needsClock) s"$source; ticks every ${duration(settings.tickUs)}"
    else source
  }

  private def trigger(spec: JsonNode, column: JsonNode => String): String = {
    val trigger = spec.get("trigger").deepCopy[ObjectNode]()
    // Without allowed lateness no late row fires a window, so the late trigger has no effect.
    if (spec.get("allowed_lateness_us").longValue == 0L) trigger.remove("late")
    describe(trigger, column)
  }

  private def drain(spec: JsonNode, isStreaming: Boolean): String =
    if (!isStreaming) "all windows fire at the end of the DataFrame"
    else if (spec.get("drain").booleanValue) "open windows fire when an availableNow run ends"
    else "no: open windows wait for the next run"

  private def lateRows(spec: JsonNode): String = {
    val what = spec.get("late_rows").asText match {
      case "no" => "counted"
      case "late" => "counted, and emitted"
      case "partly" => "counted, and emitted, also rows that missed only some of their windows"
    }
    s"$what; allowed lateness ${duration(spec.get("allowed_lateness_us").longValue)}"
  }

  private def layout(choice: LayoutChoice): String = choice.layout match {
    case SliceLayout =>
      "slices: the slice log can run these windows"
    case KeyedLayout =>
      choice.unsupportedBySlices
        .fold("keyed: set by options(layout='keyed')")(part => s"keyed: needed for $part")
  }

  private def keyedState(spec: WindowSpec): String = {
    val rows =
      if (spec.evictor.isDefined || spec.function.takesRows || keepsRows(spec.window))
        ", and the rows themselves"
      else if (spec.trigger.parts.exists(_.isInstanceOf[AfterDelta]))
        ", and the rows of their last firings"
      else ""
    s"an entry for each key, with the partial aggregates and timers of its windows$rows"
  }

  private def keepsRows(window: Window): Boolean = window match {
    case count: Count => !count.isNumbered
    case _ => false
  }

  private def state(window: JsonNode): String = {
    val slice = window.get("kind").asText match {
      case "tumbling" | "calendar" => Some("window")
      case "hopping" =>
        val gcd = BigInt(micros(window, "size_us")).gcd(BigInt(micros(window, "slide_us")))
        Some(s"slice of ${duration(gcd.toLong)}")
      case "cumulate" => Some(s"slice of ${duration(micros(window, "step_us"))}")
      case "session" =>
        Some(s"slice of ${duration(micros(window, "gap_us"))}, with the bounds of sessions")
      case _ => None
    }
    val lasts =
      if (window.get("kind").asText == "session") "until a session has closed"
      else "until the last window that covers them has fired"
    s"for each key group${slice.fold("")(" and " + _)}, the partial aggregates of all keys as sorted segments, $lasts"
  }

  private def micros(node: JsonNode, field: String): Long = node.get(field).longValue

  /** Describes a JSON value: its kind, then the fields that differ from their defaults. */
  private def describe(value: JsonNode, column: JsonNode => String): String = {
    val fields = value.properties.asScala.toSeq
      .map(f => (f.getKey, f.getValue))
      .collect {
        case (name, v) if !plain(name -> v.asText) => (name, v)
      }
      .collect {
        case (name, v) if name.endsWith("_us") && v.isIntegralNumber =>
          s"${words(name.stripSuffix("_us"))} ${duration(v.longValue)}"
        case (name, v) if name.endsWith("_column") && v.isInt =>
          s"${words(name.stripSuffix("_column"))} ${column(v)}"
        case (name, v) if v.isObject => s"${words(name)} ${describe(v, column)}"
        case (name, v) if name != "kind" && !v.isNull => s"${words(name)} ${v.asText}"
      }
    (words(value.get("kind").asText) +: fields).mkString(", ")
  }

  private val plain = Set("offset_us" -> "0", "closed" -> "left", "stagger" -> "aligned")

  private def words(name: String): String = name.replace('_', ' ')

  private val units = Seq(
    "day" -> 86400000000L,
    "hour" -> 3600000000L,
    "minute" -> 60000000L,
    "second" -> 1000000L,
    "millisecond" -> 1000L,
    "microsecond" -> 1L)

  private[transom] def duration(micros: Long): String = {
    val (parts, _) = units.foldLeft((Vector.empty[String], micros)) {
      case ((done, left), (unit, size)) =>
        val n = left / size
        val part = if (n == 0) None else Some(s"$n $unit${if (n.abs == 1) "" else "s"}")
        (done ++ part, left % size)
    }
    if (parts.isEmpty) "0 seconds" else parts.mkString(" ")
  }
}
