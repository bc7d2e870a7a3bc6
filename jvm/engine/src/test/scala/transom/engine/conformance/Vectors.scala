package transom.engine.conformance

import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import transom.engine.conformance.check._
import transom.engine.conformance.vector.{Json, Malformed, Unsupported}

/** Runs vectors, each by its kind. */
object Vectors {

  private val later = Map(
    "merge_guard" -> "merges that Flink rejects cannot occur: a session only grows")

  /** Runs the content of a file. */
  def run(bytes: Array[Byte]): Outcome =
    try run(UTF_8.newDecoder.decode(ByteBuffer.wrap(bytes)).toString)
    catch {
      case _: CharacterCodingException => Outcome.Failed(Seq("cannot be parsed: it is not UTF-8"))
    }

  def run(text: String): Outcome =
    try dispatch(Json.parse(text))
    catch {
      case unsupported: Unsupported => Outcome.Skipped(unsupported.reason)
      case malformed: Malformed =>
        Outcome.Failed(Seq(s"cannot be parsed: ${malformed.getMessage}"))
      case NonFatal(e) => Outcome.Failed(Seq(s"the engine threw $e"))
    }

  private def dispatch(vector: Json): Outcome =
    if (vector.has("system")) SeedVectors.run(vector)
    else {
      vector("kind").string match {
        case "assigner" => GridKinds.assigner(vector)
        case "window_start" => GridKinds.windowStart(vector)
        case "panes" => GridKinds.sliceBounds(vector)
        case "slices" => GridKinds.slices(vector)
        case "slices_dst" => GridKinds.localWindows(vector)
        case "intersects" => SessionKinds.intersects(vector)
        case "merge" => SessionKinds.merge(vector)
        case "merging_set" => SessionKinds.mergingSet(vector)
        case "invalid_parameters" => ParameterKind.run(vector)
        case "operator" => OperatorKind.run(vector)
        case "trigger" => TriggerKind.run(vector)
        case "trigger_map" => TriggerKind.purging(vector)
        case "state_accounting" => StateAccounting.run(vector)
        case "side_output" => OperatorKind.functionTimes(vector)
        case kind => Outcome.Skipped(later.getOrElse(kind, throw new Malformed(s"kind is $kind")))
      }
    }
}
