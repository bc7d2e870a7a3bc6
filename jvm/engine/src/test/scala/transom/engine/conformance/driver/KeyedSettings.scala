package transom.engine.conformance.driver

import transom.engine.conformance.vector.{Json, Malformed, Scale, Settings, Unsupported}
import transom.engine.firing._
import transom.engine.keyed.KeyedPlan
import transom.engine.keyed.contract.{RowStore, WindowAggregation}
import transom.engine.time.Timeline
import transom.engine.window.{Count, Custom, DynamicSession, Global, Session, Window}

/** Reads the triggers, evictors and windows of a vector for the keyed layout. */
final class KeyedSettings(vector: Json, scale: Scale) {

  private val windows = vector("windows")

  val isOnClock: Boolean = windows.get("time").exists(_.string == "processing")

  val isCount: Boolean = windows("type").string.startsWith("count_")

  val isGlobal: Boolean = windows("type").string == "global"

  def lateness: Long = scale.in(vector("allowed_lateness_ms").long)

  def plan(
      aggregation: WindowAggregation[Row, Vector[Json]],
      contents: RowStore[Row],
      emitsRows: Boolean): KeyedPlan[Row, Vector[Json]] = {
    val plan = KeyedPlan
      .of(
        window,
        timeline,
        Never,
        vector.get("evictor").map(evictor),
        aggregation,
        contents,
        conditions)
      .copy(
        allowedLateness = lateness,
        emitsRows = emitsRows,
        retracts = vector("output_mode").string == "update")
    if (isCount) plan else plan.copy(trigger = trigger(vector("trigger")))
  }

  def timeline: Timeline = if (isOnClock) Timeline.Clock else Timeline.Event

  def window: Window = windows("type").string match {
    case "session" if windows("gap_ms").value == "per_element" => DynamicSession(0)
    case "session" => Session(scale.in(windows("gap_ms").long))
    case "global" => Global
    case "explicit" => Custom(0)
    case "count_tumbling" => Count(windows("size").long.toInt)
    case "count_sliding" =>
      Count(windows("size").long.toInt, Some(windows("slide").long.toInt))
    case _ => Settings.grid(scale, "UTC", windows)
  }

  private def trigger(query: Json): TriggerLogic[Row, Vector[Json]] =
    query("type").string match {
      case "fire_always" => new FixedTrigger(TriggerResult.Fire, TriggerResult.Fire)
      case "fire_on_element" => new FixedTrigger(TriggerResult.Fire, TriggerResult.Continue)
      case "fire_on_timers" => new FixedTrigger(TriggerResult.Continue, TriggerResult.Fire)
      case "fire_and_purge_at_end_and_cleanup" => new FireAndPurgeTrigger
      case _ => KeyedSettings.trigger(query, scale).logic(conditions)
    }

  private def evictor(query: Json): Evictor = {
    val when = query("when").string match {
      case "before" => Eviction.Before
      case "after" => Eviction.After
    }
    query("type").string match {
      case "count" => KeepLast(query("max").long.toInt, when)
      case "time" => KeepRecent(scale.in(query("keep_ms").long), when)
      case "delta" => KeepNear(0, query("threshold").number.toDouble, when)
      case other => throw new Malformed(s"evictor.type is $other")
    }
  }

  private def conditions: Conditions[Row, Vector[Json]] =
    new Conditions[Row, Vector[Json]] {
      override def condition(column: Int): Condition[Row, Vector[Json]] =
        Unsupported("vectors have no conditions")
      override def delta(column: Int): Delta[Row] = {
        val field = Seq(vector.get("trigger"), vector.get("evictor")).flatten
          .flatMap(_.get("field"))
          .headOption
        def value(row: Row) =
          field.fold(row.value)(name => row.value(name.string)).number.toDouble
        (older, newer) => value(newer) - value(older)
      }
    }
}

object KeyedSettings {

  object NoConditions extends Conditions[Row, Vector[Json]] {
    override def condition(column: Int): Condition[Row, Vector[Json]] =
      Unsupported("vectors have no conditions")
    override def delta(column: Int): Delta[Row] = Unsupported("there is no delta")
  }

  /** The trigger of a vector, without the triggers that only tests have. */
  def trigger(query: Json, scale: Scale): Trigger = {
    def micros(name: String) = scale.in(query(name).long)
    query("type").string match {
      case "event_time" => AfterWatermark()
      case "processing_time" => AfterClock
      case "count" => AfterCount(query("n").long.toInt)
      case "continuous_event_time" => Every(micros("interval_ms"))
      case "continuous_processing_time" =>
        Every(micros("interval_ms"), TriggerClock.Processing)
      case "purging" => Purging(trigger(query("nested"), scale))
      case "delta" => AfterDelta(0, query("threshold").number.toDouble)
      case "end_of_stream" => EndOfStream
      case "never" => Never
      case "processing_timeout" =>
        ProcessingTimeout(
          trigger(query("nested"), scale),
          micros("timeout_ms"),
          query("reset_on_new_record").boolean,
          query("clear_on_timeout").boolean)
      case "early_late" =>
        val early = Every(micros("early_every_ms"), TriggerClock.Processing, aligned = false)
        val late = query("late").string match {
          case "every_element" => Some(AfterCount(1))
          case "none" => None
          case other => throw new Malformed(s"trigger.late is $other")
        }
        AfterWatermark(Some(early), late)
      case other => throw new Malformed(s"trigger.type is $other")
    }
  }
}
