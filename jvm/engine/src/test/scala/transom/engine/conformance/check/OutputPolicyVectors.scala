package transom.engine.conformance.check

import transom.engine.conformance.driver.Specs
import transom.engine.conformance.vector.Json
import transom.engine.runtime.OutputWatermark
import transom.engine.spec.OutputPolicy
import transom.engine.window.GridModel

/** Runs the vectors of StreamInsight about punctuation behind windows. */
object OutputPolicyVectors {

  private val policies = Seq(
    "output_cti_PointAlignToWindowEnd" -> OutputPolicy.PointAlignToWindowEnd,
    "output_cti_ClipToWindowEnd" -> OutputPolicy.ClipToWindowEnd)

  def run(vector: Json): Outcome = {
    val spec = Specs.of(SeedVectors.windowOf(vector("windows")))
    val outputs = policies.map { case (name, policy) =>
      name -> new OutputWatermark(spec.copy(outputPolicy = Some(policy)))
    }
    Outcome.of(vector("expected")("per_event").elements.flatMap { event =>
      Outcome.compare(
        s"row ${event("seq")}",
        outputs.map { case (name, _) => event(name).value },
        outputs.map { case (_, output) =>
          GridModel.toInstant(output.of(SeedVectors.micros(event("input_cti")))).toString
        })
    })
  }
}
