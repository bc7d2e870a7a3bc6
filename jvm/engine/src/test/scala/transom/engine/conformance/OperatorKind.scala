package transom.engine.conformance

import transom.engine.keyed.KeyedPlan
import transom.engine.spec.{AfterWatermark, Custom}
import transom.engine.window.{GlobalGrid, Grid, Timeline}

/** Vectors that run rows, watermarks and clocks through a window operator: the per-key one, and
  * the slice log where that has what they need. The results must be the same.
  */
object OperatorKind {

  def run(vector: Json): Outcome = {
    val aggregate = Values.aggregate(vector("aggregate").string)
    val scale = Scale.of(vector)
    val aggregation = new JsonAggregation(aggregate)
    def keyed(restarts: Boolean, rows: Boolean) = new KeyedRunner(
      contents => new KeyedSettings(vector, scale).plan(aggregation, contents, rows),
      restarts)
    def replay(operator: Operator, inBatches: Boolean) =
      new Replay(vector, aggregate, operator, inBatches)
    val emitsRows =
      vector("function").string == "process" && vector("output_mode").string == "append"
    val rowByRow = replay(keyed(restarts = true, emitsRows), inBatches = false).problems
    Outcome.of(
      if (rowByRow.nonEmpty) rowByRow
      else {
        replay(keyed(restarts = false, emitsRows), inBatches = true).problems.map(inBatches) ++
          slices(vector, replay)
      })
  }

  /** What a window function emits beside its results has their time: the window's last tick. */
  def functionTimes(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { query =>
      val runner = new KeyedRunner(contents =>
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

  private def inBatches(problem: String) = s"in batches: $problem"

  private def slices(vector: Json, replay: (Operator, Boolean) => Replay): Seq[String] =
    sliceOperator(vector).fold(Seq.empty[String]) { _ =>
      def operator = sliceOperator(vector).get
      val rowByRow = replay(operator, false)
      val problems = rowByRow.problems
      // How rows are cut into batches while the watermark stands still must not matter. Only for a
      // row behind the watermark it does: whether the session that it touches was there before it.
      val batched =
        if (problems.nonEmpty || isSession(vector) && rowByRow.metLateRows) Nil
        else replay(operator, true).problems.map(inBatches)
      (problems ++ batched).map(problem => s"slice log: $problem")
    }

  private def isSession(vector: Json): Boolean = vector("windows")("type").string == "session"

  /** The slice log has aggregates of windows that the watermark fires, once. */
  private def sliceOperator(vector: Json): Option[Operator] = {
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
      case "session" => Some(new SessionOperator(scale.in(windows("gap_ms").long)))
      case "global" => Some(new GridOperator(GlobalGrid))
      case _ => Some(new GridOperator(Grid.of(Settings.grid(scale, "UTC", windows))))
    }
  }

  private def elements(vector: Json): Seq[Json] =
    vector("steps").elements.filter(_("op").string == "element")
}
