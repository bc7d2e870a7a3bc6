package transom.engine.conformance.check

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.{Json, Scale, Settings, Values}
import transom.engine.firing.AfterWatermark
import transom.engine.keyed.KeyedPlan
import transom.engine.time.Timeline
import transom.engine.window.{Custom, Global}

/** Runs vectors with rows, watermarks and ticks: in the keyed layout, and in a log if the log
  * supports the vector. The results must be the same.
  */
object OperatorKind {

  def run(vector: Json): Outcome = {
    val aggregate = Values.aggregate(vector("aggregate").string)
    val layouts = Seq(Some(() => keyed(vector, aggregate)), log(vector)).flatten
    Outcome.of(
      layouts.iterator.map(problems(vector, aggregate, _)).find(_.nonEmpty).getOrElse(Nil))
  }

  private def problems(
      vector: Json,
      aggregate: Seq[Json] => Seq[Any],
      operator: () => Operator): Seq[String] = {
    val rowByRow = new Replay(vector, aggregate, operator(), inBatches = false)
    val problems = rowByRow.problems
    // While the watermark stands still, splitting rows into batches must not change results. Late
    // session rows are an exception: they are tried after the other rows of their batch.
    if (problems.nonEmpty || isSession(vector) && rowByRow.metLateRows) problems
    else
      new Replay(vector, aggregate, operator(), inBatches = true).problems
        .map(problem => s"in batches: $problem")
  }

  private def keyed(vector: Json, aggregate: Seq[Json] => Seq[Any]): Operator = {
    val settings = new KeyedSettings(vector, Scale.of(vector))
    val emitsRows =
      vector("function").string == "process" && vector("output_mode").string == "append"
    new KeyedRunner(settings.window, settings.timeline, lateness = settings.lateness)(
      settings.plan(new JsonAggregation(aggregate), _, emitsRows))
  }

  /** Runs vectors about the time of a window function's side outputs: the last tick of the
    * window.
    */
  def functionTimes(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { query =>
      val runner = new KeyedRunner(Custom(0), Timeline.Event)(contents =>
        KeyedPlan
          .of(
            Custom(0),
            Timeline.Event,
            AfterWatermark(),
            None,
            new JsonAggregation(_.map(_.value)),
            contents,
            KeyedSettings.NoConditions)
          .copy(emitsRows = true))
      val window = scale.window(query("window"))
      val time = Some(scale.in(query("element_ts").long))
      val row = Row(query("value"), query("value"), time, 0L, windows = Seq(window))
      runner.process(Seq(row), Long.MinValue)
      val times = runner.fire(window.end).map(fired => scale.out(fired.window.end) - 1)
      Outcome.compare(s"$query", Seq(query("side_output_ts").long), times)
    })
  }

  private def isSession(vector: Json): Boolean = vector("windows")("type").string == "session"

  /** The log for a vector, if a log supports it: aggregates of windows that fire once by the
    * watermark.
    */
  private def log(vector: Json): Option[() => Operator] = {
    val scale = Scale.of(vector)
    val windows = vector("windows")
    val kind = windows("type").string
    val wanted = if (kind == "global") "end_of_stream" else "event_time"
    val isPlain = vector("trigger")("type").string == wanted &&
      vector.get("evictor").isEmpty && vector("allowed_lateness_ms").long == 0 &&
      vector("output_mode").string == "append" &&
      !windows.get("time").exists(_.string == "processing") &&
      (wanted == "end_of_stream" || !elements(vector).exists(_.get("ts").isEmpty))
    kind match {
      case _ if !isPlain => None
      case "explicit" | "count_tumbling" | "count_sliding" => None
      case "session" if windows("gap_ms").value == "per_element" => None
      case "session" => Some(() => new SessionOperator(scale.in(windows("gap_ms").long)))
      case "global" => Some(() => new GridOperator(Global))
      case _ => Some(() => new GridOperator(Settings.grid(scale, "UTC", windows)))
    }
  }

  private def elements(vector: Json): Seq[Json] =
    vector("steps").elements.filter(_("op").string == "element")
}
