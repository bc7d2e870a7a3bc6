package transom.engine.conformance

/** Vectors of Atlas, Azure Stream Analytics and StreamInsight. */
object SeedVectors {

  private val later = Map(
    "atlas.fixed" -> "Atlas' clocks and idle timeouts are not supported so far",
    "atlas.session" -> "Atlas' rules for late session rows are not supported so far",
    "asa.time_policy" -> "time policies are not supported so far",
    "asa.window" -> "Azure's windows are not run so far",
    "asa.pipeline" -> "time policies are not supported so far",
    "si.window" -> "StreamInsight's windows are not run so far",
    "si.advance_time" -> "time policies are not supported so far",
    "si.cti_propagation" -> "output policies are not supported so far")

  def run(vector: Json): Outcome = {
    val model = vector("model").string
    Outcome.Skipped(later.getOrElse(model, throw new Malformed(s"model is $model")))
  }
}
