package transom.engine.conformance.check

import transom.engine.firing.AfterLateness
import transom.engine.judge._
import transom.engine.runtime.GroupInput
import transom.engine.spec._
import transom.engine.state.MemoryState
import transom.engine.window.Tumbling
import transom.engine.conformance.driver.Specs
import transom.engine.conformance.vector.{Json, Malformed, Scale}

/** Runs vectors in which the wall clock acts on the whole input. */
object InputVectors {
  import SeedVectors.micros

  /** Runs a time policy whose watermark moves on while no rows arrive. */
  def run(vector: Json): Outcome = {
    val policy = vector("policy")
    val ids = policy.get("partitions").fold(Seq.empty[String])(_.elements.map(_.string))
    val times = PolicyVectors
      .policyOf(policy)
      .copy(
        partitionColumn = Option.when(ids.nonEmpty)(2),
        partitions = ids,
        // Without a bound for late rows, the wall clock moves no watermark.
        estimateArrival = policy.get("late_tolerance_ms").nonEmpty)
    val player = new InputPlayer(Specs.of(Tumbling(1), times), times)
    Outcome.of(vector("events").elements.zip(vector("expected")("per_event").elements).flatMap {
      case (event, expected) =>
        val isTick = event.has("kind")
        val clock = micros(event(if (isTick) "wall_time" else "arrival_time"))
        val watermark =
          if (isTick) player.tick(clock)
          else
            player
              .row(micros(event("event_time")), clock, event.get("partition").fold("")(_.string))
        val combined =
          if (expected.has("combined_watermark")) "combined_watermark"
          else "watermark_with_idle_floor"
        Outcome.compare(
          s"row ${event("seq")}",
          Seq(expected(combined).value) ++
            Option.unless(isTick)(expected("system_timestamp").value),
          Seq(StampFields.shown(watermark)) ++
            Option.unless(isTick)(StampFields.shown(player.stamp.time)))
    })
  }

  /** Plays the input of windows that close when the source is silent. */
  def ofAtlas(vector: Json): InputPlayer = {
    val policy = vector("policy")
    val rule = policy.get("idle_rule").fold("after_window_end")(_.string) match {
      case "after_window_end" => IdleRule.AfterWindowEnd
      case "greater_of" => IdleRule.GreaterOf
      case other => throw new Malformed(s"unknown idle rule $other")
    }
    val times = TimePolicy(
      Some(0),
      None,
      None,
      Nil,
      Nil,
      None,
      None,
      Accept(0),
      Periodic(Some(1), None),
      None,
      estimateArrival = false)
    val after = Scale.of(vector).in(policy("idle_timeout_ms").long)
    val lateness = policy.get("allowed_lateness_ms").fold(AtlasVectors.DefaultLateness)(_.long)
    val spec = Specs
      .of(SeedVectors.windowOf(vector("windows")), times, Scale.of(vector).in(lateness))
      .copy(idleTimeout = Some(IdleTimeout(after, rule)), trigger = AfterLateness)
    new InputPlayer(spec, times)
  }
}

/** Plays the rows and ticks of an input one by one, with state in memory. Each is a batch. */
final class InputPlayer(windows: WindowSpec, policy: TimePolicy) {
  private val store = new SourceStore(new MemoryState)
  private val logic = new TimePolicyLogic(policy)
  private val input = new GroupInput.Row

  /** The stamp of the last row. */
  val stamp = new Judgement

  /** Adds a row, and returns the watermark of the windows. Times are microseconds since 1970. */
  def row(time: Long, clock: Long, partition: String = ""): Long = play(clock) { watermarks =>
    val bytes = partition.getBytes
    input.key.set(bytes, 0, bytes.length)
    input.context.time = time
    input.context.arrival = clock
    watermarks.judge(watermarks.sourceOf(input.key), input, stamp)
  }

  /** Moves the wall clock, and returns the watermark of the windows. */
  def tick(clock: Long): Long = play(clock)(_.tick())

  private def play(clock: Long)(act: PartitionWatermarks => Unit): Long = {
    val declared = policy.partitions.map(_.getBytes)
    val watermarks = new PartitionWatermarks(policy, logic, declared, windows, store, clock)
    act(watermarks)
    watermarks.save()
    watermarks.watermark
  }
}
