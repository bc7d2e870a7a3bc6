package transom.engine.conformance.check

import java.time.Instant

import transom.engine.conformance.driver.{Fired, GridOperator, KeyedRunner, Operator, Row, Specs}
import transom.engine.conformance.vector.{Json, Malformed, Scale, Unsupported}
import transom.engine.spec._
import transom.engine.window.GridModel

/** Runs the vectors of Atlas, Azure Stream Analytics and StreamInsight that need only points in
  * time.
  */
object SeedVectors {

  private val later = Map(
    "si.advance_time" -> "punctuation is not supported so far",
    "si.cti_propagation" -> "output policies are not supported so far")

  def run(vector: Json): Outcome = vector("model").string match {
    case "atlas.fixed" | "atlas.session" => AtlasVectors.run(vector)
    case "asa.time_policy" => PolicyVectors.run(vector)
    case "asa.pipeline" => PipelineVectors.run(vector)
    case "asa.window" => runFinished(vector, "event_time", Closed.Right)
    case "si.window" => runFinished(vector, "start", Closed.Left)
    case model => Outcome.Skipped(later.getOrElse(model, throw new Malformed(s"model is $model")))
  }

  /** Adds all rows, then moves the watermark to the end of time. */
  private def runFinished(vector: Json, time: String, closed: Closed): Outcome = {
    val policy = vector("policy")
    if (vector.has("stages")) Unsupported("chained stages are not run at this level")
    val operator = operatorOf(vector("windows"), closed)
    if (policy.has("top_k")) Unsupported("top-k is not supported so far")
    val events = vector("events").elements
    if (events.exists(_.has("end")) || policy.has("alter_duration_ms"))
      Unsupported("lifetimes are not supported so far")
    val keys = policy.get("group_by").fold(Seq.empty[String])(_.elements.map(_.string))
    val aggregates = policy("aggregates").elements.map(aggregate)
    val rows = events.zipWithIndex.map { case (event, i) =>
      val key = keys.map(name => event("payload")(name).value)
      Row(Json.parse(Json.show(key)), event, Some(micros(event(time))), i.toLong)
    }
    operator.process(rows, Long.MinValue)
    val got = operator.fire(Long.MaxValue).map { fired =>
      bounds(fired) ++ keys.zip(fired.key.elements.map(_.value)) ++
        aggregates.map { case (name, compute) => name -> compute(fired.values) }
    }
    val columns = Seq("window_start", "window_end") ++ keys ++ aggregates.map(_._1)
    val expected = vector("expected")("outputs").elements.map(only(_, columns))
    Outcome.of(Outcome.compareInAnyOrder("outputs", expected, got).toSeq)
  }

  private def operatorOf(windows: Json, closed: Closed): Operator = {
    if (windows.value.isInstanceOf[Vector[_]])
      Unsupported("several windows in one pass are not supported so far")
    if (windows("type").string == "session") new KeyedRunner(Specs.of(session(windows, closed)))
    else new GridOperator(windowOf(windows, closed))
  }

  private def session(windows: Json, closed: Closed): Session = {
    val scale = Scale.of(windows)
    Session(
      scale.in(windows("timeout_ms").long),
      closed = closed,
      maxDurationUs = Some(scale.in(windows("max_duration_ms").long)),
      maxCheck = windows.get("max_duration_check").fold("ge")(_.string) match {
        case "ge" => MaxCheck.AtLeast
        case "gt" => MaxCheck.Above
        case other => throw new Malformed(s"unknown check $other")
      })
  }

  private[check] def windowOf(windows: Json, closed: Closed = Closed.Left): GridWindow = {
    val scale = Scale.of(windows)
    def millis(name: String) = scale.in(windows(name).long)
    def offset(period: Long) = windows
      .get("alignment")
      .map(alignment => micros(alignment) % period)
      .orElse(windows.get("offset_ms").map(offset => scale.in(offset.long)))
      .getOrElse(0L)
    windows("type").string match {
      case "tumbling" =>
        Tumbling(millis("size_ms"), offset(millis("size_ms")), closed = closed)
      case "hopping" =>
        Hopping(millis("size_ms"), millis("hop_ms"), offset(millis("hop_ms")), closed = closed)
      case "sliding" | "snapshot" | "count" =>
        Unsupported(
          s"the ${windows("type").string} windows of this system are not supported so far")
      case other => throw new Malformed(s"windows of unknown type $other")
    }
  }

  private def aggregate(query: Json): (String, Seq[Json] => Any) = {
    def field(event: Json): Json =
      if (event.has(query("field").string)) event(query("field").string)
      else event("payload")(query("field").string)
    val compute: Seq[Json] => Any = query("fn").string match {
      case "count" => events => events.size.toLong
      case "sum" => events => Json.normal(events.map(field(_).number).sum)
      case "ids" => events => events.map(field(_).value)
      case other => Unsupported(s"the aggregate $other is not run at this level")
    }
    query("as").string -> compute
  }

  private[check] def micros(time: Json): Long =
    GridModel.toMicros(Instant.parse(time.string))

  private[check] def bounds(fired: Fired): Map[String, Any] = Map(
    "window_start" -> GridModel.toInstant(fired.window.start).toString,
    "window_end" -> GridModel.toInstant(fired.window.end).toString)

  private[check] def only(row: Json, columns: Seq[String]): Map[String, Any] =
    columns.map(name => name -> row(name).value).toMap
}
