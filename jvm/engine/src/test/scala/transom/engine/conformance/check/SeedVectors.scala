package transom.engine.conformance.check

import java.time.Instant

import transom.engine.conformance.driver.Fired
import transom.engine.conformance.vector.{Json, Malformed}
import transom.engine.window.{Closed, GridModel, Window}

/** Runs the vectors of Atlas, Azure Stream Analytics and StreamInsight. */
object SeedVectors {

  def run(vector: Json): Outcome = vector("model").string match {
    case "atlas.fixed" | "atlas.session" => AtlasVectors.run(vector)
    case "asa.time_policy" => PolicyVectors.run(vector)
    case "si.advance_time" => AdvanceTimeVectors.run(vector)
    case "asa.pipeline" => PipelineVectors.run(vector)
    case "asa.window" | "si.window" => FinishedVectors.run(vector)
    case "si.cti_propagation" => OutputPolicyVectors.run(vector)
    case model => throw new Malformed(s"model is $model")
  }

  private[check] def windowOf(windows: Json, closed: Closed = Closed.Left): Window =
    new VectorWindows(closed, perMillisecond = 1000).of(windows)

  private[check] def micros(time: Json): Long =
    GridModel.toMicros(Instant.parse(time.string))

  private[check] def bounds(fired: Fired): Map[String, Any] = Map(
    "window_start" -> GridModel.toInstant(fired.window.start).toString,
    "window_end" -> GridModel.toInstant(fired.window.end).toString)

  private[check] def only(row: Json, columns: Seq[String]): Map[String, Any] =
    columns.map(name => name -> row(name).value).toMap
}
