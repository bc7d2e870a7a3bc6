package transom.engine.conformance

import transom.engine.{GlobalGrid, Grid}

/** Vectors that run rows and watermarks through a window operator. */
object OperatorKind {

  def run(vector: Json): Outcome = {
    checkSupported(vector)
    val aggregate = Values.aggregate(vector("aggregate").string)
    val rowByRow = new Replay(vector, aggregate, operator(vector), inBatches = false)
    val problems = rowByRow.problems
    // How rows are cut into batches while the watermark stands still must not matter. Only for a
    // row behind the watermark it does: whether the session that it touches was there before it.
    val inBatches =
      if (problems.nonEmpty || isSession(vector) && rowByRow.metLateRows) Nil
      else new Replay(vector, aggregate, operator(vector), inBatches = true).problems
    Outcome.of(problems ++ inBatches.map(problem => s"in batches: $problem"))
  }

  private def isSession(vector: Json): Boolean = vector("windows")("type").string == "session"

  private def checkSupported(vector: Json): Unit = {
    val windows = vector("windows")
    val trigger = vector("trigger")("type").string
    val wanted = if (windows("type").string == "global") "end_of_stream" else "event_time"
    windows("type").string match {
      case "explicit" => Unsupported("windows listed row by row are not supported so far")
      case "count_tumbling" | "count_sliding" =>
        Unsupported("count windows are not supported so far")
      case _ =>
    }
    if (windows.get("time").exists(_.string == "processing"))
      Unsupported("processing time is not supported so far")
    if (windows.get("gap_ms").exists(_.value == "per_element"))
      Unsupported("a gap per row is not supported so far")
    if (vector.get("evictor").isDefined) Unsupported("evictors are not supported so far")
    if (trigger != wanted) Unsupported(s"the trigger $trigger is not supported so far")
    if (vector("allowed_lateness_ms").long != 0)
      Unsupported("an allowed lateness above zero is not supported so far")
    if (vector("output_mode").string != "append")
      Unsupported("retractions (update mode) are not supported so far")
    if (trigger == "event_time" && elements(vector).exists(_.get("ts").isEmpty))
      Unsupported("rows without a time are not supported so far")
  }

  private def elements(vector: Json): Seq[Json] =
    vector("steps").elements.filter(_("op").string == "element")

  private def operator(vector: Json): Operator = {
    val scale = Scale.of(vector)
    val windows = vector("windows")
    windows("type").string match {
      case "session" => new SessionOperator(scale.in(windows("gap_ms").long))
      case "global" => new GridOperator(GlobalGrid)
      case _ => new GridOperator(Grid.of(Settings.grid(scale, "UTC", windows)))
    }
  }
}
