package transom.engine.conformance.check

import scala.collection.mutable.ArrayBuffer

import transom.engine.conformance.driver.{GridOperator, JsonAggregation, KeyedRunner, KeyedSettings, Operator, Row}
import transom.engine.conformance.vector.{Json, Scale}
import transom.engine.firing.{AfterClock, AfterLateness}
import transom.engine.keyed.KeyedPlan
import transom.engine.time.Timeline
import transom.engine.window.{LateStart, Session}

/** Runs the vectors of Atlas Stream Processing.
  *
  * A window has one result, which it emits once no more late rows can arrive. The watermark
  * follows the largest event time.
  */
object AtlasVectors {
  import SeedVectors.{bounds, micros, only}

  /** The default allowed lateness of Atlas: three seconds. */
  private[check] val DefaultLateness = 3000L

  def run(vector: Json): Outcome = {
    val policy = vector("policy")
    val isOnClock = policy.get("boundary").exists(_.string == "processingTime")
    val lateness = policy.get("allowed_lateness_ms").fold(DefaultLateness)(_.long)
    val isPlain = vector("model").string == "atlas.fixed" && !isOnClock && lateness == 0
    val operators = Seq(keyed(vector, isOnClock, Scale.of(vector).in(lateness))) ++
      Option.when(isPlain)(new GridOperator(SeedVectors.windowOf(vector("windows"))))
    Outcome.of(operators.flatMap(play(vector, isOnClock, _)))
  }

  private def isSession(vector: Json): Boolean = vector("model").string == "atlas.session"

  private def keyed(vector: Json, isOnClock: Boolean, lateness: Long): Operator = {
    val window =
      if (isSession(vector)) {
        val gap = Scale.of(vector).in(vector("windows")("gap_ms").long)
        Session(gap, inclusive = false, lateStart = LateStart.Reject)
      } else SeedVectors.windowOf(vector("windows"))
    val timeline = if (isOnClock) Timeline.Clock else Timeline.Event
    new KeyedRunner(window, timeline, lateness = lateness)(contents =>
      KeyedPlan
        .of(
          window,
          timeline,
          if (isOnClock) AfterClock else AfterLateness,
          None,
          new JsonAggregation(_.map(_.value)),
          contents,
          KeyedSettings.NoConditions)
        .copy(allowedLateness = lateness))
  }

  private def play(vector: Json, isOnClock: Boolean, operator: Operator): Seq[String] = {
    var watermark = Long.MinValue
    val input = vector("policy").get("idle_timeout_ms").map(_ => InputVectors.ofAtlas(vector))
    val outputs = ArrayBuffer.empty[Map[String, Any]]
    val late = ArrayBuffer.empty[Any]
    // The host computes keys, so a row without a key never reaches the engine.
    val (withoutKey, events) =
      vector("events").elements.partition(_.get("partition_error").exists(_.boolean))
    events.foreach { event =>
      val seq = event("seq")
      val clock = event.get("processing_time").fold(0L)(micros)
      val time = event.get("event_time").filterNot(_ => isOnClock).fold(clock)(micros)
      if (!event.has("kind")) {
        val key = if (event.has("key")) event("key") else Json.parse("null")
        val row = Row(key, seq, Some(time), seq.long, clock)
        late ++= operator.process(Seq(row), watermark).map(_.value.value)
      }
      if (isOnClock) operator.tick(clock)
      else
        watermark = input match {
          case Some(input) if event.has("kind") => input.tick(clock)
          case Some(input) => input.row(time, clock)
          case None => Math.max(watermark, time)
        }
      outputs ++= (operator.takeFired() ++ operator.fire(watermark)).map { fired =>
        bounds(fired) + ("seqs" -> fired.values.map(_.value)) + ("at_row" -> seq.value) ++
          Option.when(isSession(vector))("partition" -> fired.key.value)
      }
    }
    val columns = Seq("window_start", "window_end", "seqs", "at_row") ++
      Option.when(isSession(vector))("partition")
    val expected = vector("expected")
    val missedAll = expected("per_event").elements
      .collect {
        case event if event.get("disposition").exists(_.string == "dlq") => event("seq").value
      }
      .diff(withoutKey.map(_("seq").value))
    Outcome
      .compareInAnyOrder(
        "outputs",
        expected("outputs").elements.map(only(_, columns)),
        outputs.toSeq)
      .toSeq ++ Outcome.compareInAnyOrder("late rows", missedAll, late.toSeq)
  }
}
