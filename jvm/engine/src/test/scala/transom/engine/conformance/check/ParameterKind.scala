package transom.engine.conformance.check

import scala.util.Try

import transom.engine.conformance.vector.{Json, Scale}
import transom.engine.setting.InvalidSpec
import transom.engine.window.{Cumulate, Hopping, Session, Tumbling, Window}

/** Runs vectors with settings that must be rejected. */
object ParameterKind {

  def run(vector: Json): Outcome =
    Outcome.of(vector("cases").elements.filterNot(isAllowedHere).flatMap { query =>
      val params = query("params")
      Try(build(query("assigner").string, params)).fold(
        {
          case _: InvalidSpec => None
          case other => throw other
        },
        window => Some(s"$query: expected an error, got $window"))
    })

  /** Flink's table windows require a size that is a multiple of the slide. Its stream windows and
    * transom do not.
    */
  private def isAllowedHere(query: Json): Boolean =
    query("assigner").string == "table slicing hop"

  private def build(assigner: String, params: Json): Window = {
    val scale = Scale.of(params)
    def micros(name: String) = scale.in(params(name).long)
    val offset = params.get("offset_ms").fold(0L)(json => scale.in(json.long))
    if (assigner.startsWith("session")) Session(micros("gap_ms"))
    else if (params.has("max_size_ms")) Cumulate(micros("max_size_ms"), micros("step_ms"), offset)
    else if (params.has("slide_ms")) Hopping(micros("size_ms"), micros("slide_ms"), offset)
    else Tumbling(micros("size_ms"), offset)
  }
}
