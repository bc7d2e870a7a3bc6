package transom.engine.conformance.check

import transom.engine.conformance.driver.{Fired, GridOperator, KeyedRunner, Operator, Row, Specs}
import transom.engine.conformance.vector.{Json, Unsupported}
import transom.engine.spec.{Closed, LateRows}
import transom.engine.time.Watermark

/** Vectors of Azure Stream Analytics with a time policy and windows, run one row at a time. */
object PipelineVectors {
  import SeedVectors.micros

  def run(vector: Json): Outcome = {
    val policy = vector("policy")
    if (policy.has("over"))
      Unsupported("windows over substreams are not run at this level so far")
    val keys = policy("group_by").elements.map(_.string)
    val spec = Specs.of(
      SeedVectors.windowOf(vector("windows"), Closed.Right),
      time = PolicyVectors.policyOf(policy),
      lateRows = LateRows.Late)
    val operators = Seq(new KeyedRunner(spec), new GridOperator(spec, GridOperator.SmallBundles))
    Outcome.of(operators.flatMap { operator =>
      val player = new InputPlayer(spec, PolicyVectors.policyOf(policy))
      play(vector, keys, player, operator)
    })
  }

  private def play(
      vector: Json,
      keys: Seq[String],
      player: InputPlayer,
      operator: Operator): Seq[String] = {
    var watermark = Watermark.NotYet
    val outputs = vector("events").elements.flatMap { event =>
      val met = watermark
      watermark = player.row(micros(event("event_time")), micros(event("arrival_time")))
      if (player.stamp.dropped == null) {
        val key = Json.parse(Json.show(keys.map(event(_).value)))
        val row = Row(key, event("seq"), Some(player.stamp.time), event("seq").long)
        val late = operator.process(Seq(row), met)
        assert(late.isEmpty, s"an accepted row is late: ${event("seq")}")
      }
      operator.fire(watermark).map(shown(_, keys, event("seq").value))
    } ++ operator.fire(Long.MaxValue).map(shown(_, keys, null))
    val expected = vector("expected")("outputs").elements.map { output =>
      SeedVectors.only(output, Seq("window_start", "window_end") ++ keys) ++ Map(
        "seqs" -> output("seqs").elements.map(_.long).sorted,
        "emitted_after_seq_with_idle_floor" -> output("emitted_after_seq_with_idle_floor").value)
    }
    Outcome.compareInAnyOrder("outputs", expected, outputs).toSeq
  }

  private def shown(fired: Fired, keys: Seq[String], after: Any): Map[String, Any] =
    SeedVectors.bounds(fired) ++ keys.zip(fired.key.elements.map(_.value)) ++ Map(
      "seqs" -> fired.values.map(_.long).sorted,
      "emitted_after_seq_with_idle_floor" -> after)
}
