package transom.engine.conformance.check

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.{Json, Unsupported}
import transom.engine.spec.{LateRows, WindowSpec}
import transom.engine.time.Watermark
import transom.engine.window.{Closed, GridWindow}

/** Vectors of Azure Stream Analytics with a time policy and windows, run one row at a time. */
object PipelineVectors {
  import SeedVectors.micros

  def run(vector: Json): Outcome = {
    val policy = vector("policy")
    val keys = policy("group_by").elements.map(_.string)
    val spec = Specs.of(
      SeedVectors.windowOf(vector("windows"), Closed.Right),
      time = PolicyVectors.policyOf(policy),
      lateRows = LateRows.Late)
    policy.get("over") match {
      case Some(over) => ofSubstreams(vector, keys, keys.indexOf(over.string), spec)
      case None => ofInput(vector, keys, spec)
    }
  }

  /** @param over
    *   the position of the key that identifies the substream
    */
  private def ofSubstreams(
      vector: Json,
      keys: Seq[String],
      over: Int,
      spec: WindowSpec): Outcome = {
    if (over < 0) Unsupported("the substream is no key")
    val runner = new SubstreamRunner(
      spec,
      PolicyVectors.policyOf(vector("policy")),
      Option.when(keys.length > 1)(_.elements(over)))
    val outputs = vector("events").elements.flatMap { event =>
      val arrival = micros(event("arrival_time"))
      val row = rowOf(event, keys, micros(event("event_time")), arrival)
      runner.batch(Seq(row), arrival).map(shown(_, keys, event("seq").value))
    } ++ runner.end().map(shown(_, keys, null))
    Outcome.of(compared(vector, keys, outputs))
  }

  private def ofInput(vector: Json, keys: Seq[String], spec: WindowSpec): Outcome = {
    val policy = vector("policy")
    val operators: Seq[Operator] = new KeyedRunner(spec) +:
      Option
        .when(spec.window.isInstanceOf[GridWindow])(
          new GridOperator(spec, GridOperator.SmallBundles))
        .toSeq
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
        val row = rowOf(event, keys, player.stamp.time)
        val late = operator.process(Seq(row), met)
        assert(late.isEmpty, s"an accepted row is late: ${event("seq")}")
      }
      operator.fire(watermark).map(shown(_, keys, event("seq").value))
    } ++ operator.fire(Long.MaxValue).map(shown(_, keys, null))
    compared(vector, keys, outputs)
  }

  private def rowOf(event: Json, keys: Seq[String], time: Long, arrival: Long = 0L): Row =
    Row(
      Json.parse(Json.show(keys.map(event(_).value))),
      event("seq"),
      Some(time),
      event("seq").long,
      clock = arrival)

  private def compared(
      vector: Json,
      keys: Seq[String],
      outputs: Seq[Map[String, Any]]): Seq[String] = {
    val expected = vector("expected")("outputs").elements.map { output =>
      SeedVectors.only(output, Seq("window_start", "window_end") ++ keys) ++ Map(
        "seqs" -> output("seqs").elements.map(_.long).sorted,
        "emitted_after_seq_with_idle_floor" -> output("emitted_after_seq_with_idle_floor").value)
    }
    Outcome.compareInAnyOrder("outputs", expected, outputs).toSeq
  }

  private def shown(output: Output, keys: Seq[String], after: Any): Map[String, Any] = {
    val fired = output match {
      case fired: Fired => fired
      case other => throw new AssertionError(s"an accepted row is late: $other")
    }
    SeedVectors.bounds(fired) ++ keys.zip(fired.key.elements.map(_.value)) ++ Map(
      "seqs" -> fired.values.map(_.long).sorted,
      "emitted_after_seq_with_idle_floor" -> after)
  }
}
