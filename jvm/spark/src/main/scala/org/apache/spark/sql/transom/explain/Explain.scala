package org.apache.spark.sql.transom.explain

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.exec.{OperatorNode, ReplayedOrder, TimeStageMapSide, WindowMapSide}
import org.apache.spark.sql.transom.planned.{KeyedLayout, LayoutChoice, OperatorSpec, SliceLayout, TimeStagePlan}

import transom.engine.firing.{AfterDelta, AfterWatermark, Trigger}
import transom.engine.setting.Durations
import transom.engine.spec._
import transom.engine.window.Window

/** Describes the window operators of a DataFrame and their execution, as JSON or as text. */
object Explain {

  /** Describes operators as JSON in the form of the checkpoint if `mode` is "json", else as text
    * for people.
    */
  def of(df: Dataset[Row], mode: String): String = if (mode == "json") json(df) else text(df)

  private def json(df: Dataset[Row]): String =
    OperatorSpec.pretty(OperatorSpec.array(operators(df).map(_.spec.json)))

  private def text(df: Dataset[Row]): String = {
    val described = operators(df).map {
      case s: WindowMapSide => describeOperator(s)
      case s: TimeStageMapSide => describeStage(s.plan, s.spec)
    }
    (described ++ shortPolls(df)).mkString("\n\n")
  }

  /** A hint if a stream reads Kafka with the consumer's default, 500 records a call. */
  private def shortPolls(df: Dataset[Row]): Option[String] =
    df.queryExecution.analyzed.collectFirst {
      case source: StreamingRelationV2
          if source.sourceName == "kafka" && !source.extraOptions.containsKey(MostPolled) =>
        table(
          "kafka",
          Seq("reads" -> s"500 records a call; option('$MostPolled', 20000) reads faster"))
    }

  private final val MostPolled = "kafka.max.poll.records"

  private def operators(df: Dataset[Row]): Seq[OperatorNode] = {
    val operators = OperatorNode.allIn(df.queryExecution.analyzed)
    if (operators.isEmpty)
      throw new TransomException(
        "TRANSOM_NOT_OURS",
        Map(
          "subject" -> "The DataFrame",
          "named" -> "",
          "purpose" -> "explain",
          "fix" -> "Use the result of agg() or apply(), or a DataFrame derived from it"))
    operators
  }

  private def describeOperator(node: WindowMapSide): String = {
    import node.{isStreaming, operatorPlan}
    val spec = operatorPlan.spec
    val columns = operatorPlan.operatorSpec.columns
    val text = new SpecText(columns)
    def list(indexes: Seq[Int]): String = indexes.map(columns).mkString(", ")
    val lines = Seq(
      "window" -> text.of(spec.window),
      "keys" -> (if (spec.keyColumns.isEmpty) "none: all rows have the same key"
                 else list(spec.keyColumns)),
      "time" -> time(spec, columns)) ++ spec.lifetime.map(
      "lifetime" -> lifetime(_, columns)) ++ Seq(
      "trigger" -> text.of(trigger(spec)),
      "evictor" -> spec.evictor.fold("none")(text.of(_)),
      function(spec.function, list),
      "late rows" -> lateRows(spec),
      "bad rows" -> (if (spec.deadLetters) "counted, and emitted as dead letters"
                     else "counted")) ++ spec.idleTimeout.map("silence" -> silence(_)) ++ Seq(
      "drain" -> drain(spec, isStreaming),
      "layout" -> layout(operatorPlan.choice)) ++ rows(node).map("rows" -> _) ++ Seq(
      "key groups" -> spec.keyGroups.toString,
      "state" -> ((operatorPlan.layout match {
        case SliceLayout => slicedState(spec.window)
        case KeyedLayout => keyedState(spec)
      }) + (if (isStreaming) "" else "; in memory, for a static DataFrame")))
    table(operatorPlan.name, lines)
  }

  private def describeStage(plan: TimeStagePlan, spec: OperatorSpec): String =
    table(
      spec.name,
      Seq(
        "time" -> PolicyText.of(plan.policy, spec.columns),
        "key groups" -> plan.keyGroups.toString,
        "state" -> "the latest times of each source"))

  private def table(name: String, lines: Seq[(String, String)]): String =
    (name +: lines.map { case (name, text) => f"  $name%-10s  $text" }).mkString("\n")

  private def function(function: Function, list: Seq[Int] => String): (String, String) = {
    val inputs = list(function.aggregateColumns)
    if (!function.isCalled) "aggregates" -> inputs
    else
      "function" -> s"in Python, takes ${if (function.takesRows) "the rows of a window"
        else inputs}"
  }

  private def lifetime(lifetime: Lifetime, columns: Int => String): String =
    lifetime.endColumn.fold {
      val length =
        lifetime.durationUs.map(Durations.text).orElse(lifetime.durationColumn.map(columns))
      s"${length.get} from the time of a row on"
    } { end =>
      val ids = lifetime.idColumns.map(columns).mkString(", ")
      val most = lifetime.timeoutUs.fold("")(us => s", at most ${Durations.text(us)}")
      if (lifetime.hasEdges) s"until the ${columns(end)} of a later row with the same $ids$most"
      else s"until ${columns(end)}"
    }

  private def time(spec: WindowSpec, columns: Int => String): String = {
    val source = spec.time match {
      case None => "none"
      case Some(ProcessingTime) => "the wall clock"
      case Some(EventTime(column, _)) => columns(column)
      case Some(policy: TimePolicy) => PolicyText.of(policy, columns)
    }
    if (spec.needsClock || spec.stageNeedsClock)
      s"$source; ticks every ${Durations.text(spec.tickUs)}"
    else source
  }

  private def trigger(spec: WindowSpec): Trigger = spec.trigger match {
    // Without allowed lateness no late row fires a window, so the late trigger has no effect.
    case trigger: AfterWatermark if spec.allowedLatenessUs == 0 => trigger.copy(late = None)
    case trigger => trigger
  }

  private def drain(spec: WindowSpec, isStreaming: Boolean): String =
    if (!isStreaming) "all windows fire at the end of the DataFrame"
    else if (spec.drain) "open windows fire when an availableNow run ends"
    else "no: open windows wait for the next run"

  private def silence(timeout: IdleTimeout): String = {
    val length = Durations.text(timeout.afterUs)
    timeout.rule match {
      case IdleRule.AfterWindowEnd => s"windows close $length after their end and the last row"
      case IdleRule.GreaterOf => s"windows close at their end, and $length after the last row"
      case IdleRule.LastRow => s"windows close $length after the last row"
    }
  }

  private def lateRows(spec: WindowSpec): String = {
    val what = spec.lateRows match {
      case LateRows.No => "counted"
      case LateRows.Late => "counted, and emitted"
      case LateRows.Partly =>
        "counted, and emitted, also rows that missed only some of their windows"
    }
    s"$what; allowed lateness ${Durations.text(spec.allowedLatenessUs)}"
  }

  private def layout(choice: LayoutChoice): String = choice.layout match {
    case SliceLayout =>
      "slices: the slice log can run these windows"
    case KeyedLayout =>
      choice.unsupportedBySlices
        .fold("keyed: set by options(layout='keyed')")(part => s"keyed: needed for $part")
  }

  /** Whether the rows of a stream stay with their tasks while a time policy judges them. */
  private def rows(node: WindowMapSide): Option[String] = {
    val stage = node.child.collectFirst {
      case stage: TimeStageMapSide if stage.operatorId == node.operatorId => stage
    }
    stage.filter(_ => node.isStreaming).map { stage =>
      if (stage.plan.holdsRows) "stay with their tasks, and only their times go to one task"
      else {
        val broken = ReplayedOrder.brokenBy(stage.child).map { below =>
          s": ${below.nodeName} may bring them in another order when a task reads them again"
        }
        s"go to one task${broken.getOrElse("")}"
      }
    }
  }

  private def keyedState(spec: WindowSpec): String = if (spec.isSwept) sweptState(spec)
  else {
    val rows =
      if (spec.evictor.isDefined || spec.function.takesRows || spec.window.ownEvictor.isDefined)
        ", and the rows themselves"
      else if (spec.trigger.parts.exists(_.isInstanceOf[AfterDelta]))
        ", and the rows of their last firings"
      else ""
    s"an entry for each key, with the partial aggregates and timers of its windows$rows"
  }

  private def sweptState(spec: WindowSpec): String = {
    val aggregates =
      if (spec.function.takesRows) "" else ", sorted by their ends, with aggregates"
    s"an entry for each key, with its live rows$aggregates"
  }

  private def slicedState(window: Window): String = {
    val slice = window.sliceText
    val until =
      if (window.isSession) "until a session has closed"
      else "until the last window that covers them has fired"
    s"for each key group${slice.fold("")(" and " + _)}, the partial aggregates of all keys as sorted segments, $until"
  }
}
