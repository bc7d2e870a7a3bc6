package transom.engine.conformance.check

import java.nio.charset.StandardCharsets.UTF_8

import transom.engine.judge._
import transom.engine.runtime.GroupInput
import transom.engine.spec._
import transom.engine.state.{ByteRange, MemoryState}
import transom.engine.time.Advance
import transom.engine.window.GridModel
import transom.engine.conformance.vector.{Json, Malformed, Scale}

/** Vectors of StreamInsight about punctuation (CTIs), run through the time stage: in one batch,
  * and each event in a batch of its own. A tick of these vectors is a millisecond, so a point
  * lasts a millisecond.
  */
object AdvanceTimeVectors {
  import SeedVectors.micros

  private final val TickUs = 1000L

  def run(vector: Json): Outcome = {
    val events = vector("events").elements
    val policy = policyOf(vector("policy"), Scale.of(vector))
    val oneByOne = new Player(policy)
    val stamped = events.map { event =>
      oneByOne.play(Seq(event)).head + ("cti" -> StampFields.shown(oneByOne.watermark))
    }
    val expected = vector("expected")("per_event").elements
    Outcome.of(
      expected.zip(stamped).flatMap { case (row, got) =>
        Outcome.compare(s"event ${row("seq")}", fieldsOf(row), got)
      } ++ Outcome.compare(
        "events in one batch",
        expected.map(fieldsOf(_) - "cti"),
        new Player(policy).play(events)))
  }

  private def fieldsOf(row: Json): Map[String, Any] = Map(
    "disposition" -> row("disposition").value,
    "lifetime" -> row.get("lifetime").map(_.value).orNull,
    "cti" -> row("cti").value)

  private def policyOf(settings: Json, scale: Scale): TimePolicy = {
    val generated = settings.get("generate")
    val delay = generated.fold(0L)(generate => scale.in(generate("delay_ms").long))
    val periodic =
      generated.map(generate => Periodic(Some(generate("every_events").long.toInt), None))
    TimePolicy(
      timeColumn = Some(0),
      arrivalColumn = Some(1),
      partitionColumn = None,
      partitions = Nil,
      overColumns = Nil,
      early = None,
      late = None,
      outOfOrder = settings("violation").string match {
        case "drop" => Drop(delay)
        case "adjust" => Adjust(delay)
        case other => throw new Malformed(s"unknown violation $other")
      },
      advance = Punctuated(whenColumn = 2, atColumn = 3, beside = periodic),
      idlePartitionUs = None,
      estimateArrival = false)
  }

  private def startOf(event: Json): Long = micros(event("start"))

  private def endOf(event: Json): Long =
    event.get("end").fold(startOf(event) + TickUs)(micros)

  private def instant(micros: Long): String = GridModel.toInstant(micros).toString

  /** Runs the stage over one source, with state in memory. Each call is a batch. */
  private final class Player(policy: TimePolicy) {
    private val store = new SourceStore(new MemoryState)
    private val logic = new TimePolicyLogic(policy)
    private val stage =
      new TimeStage((store, _) => new SourceWatermarks(logic, store), EventFields)

    def watermark: Long =
      logic.watermarkOf(SourceWatermark.of(store.sources.get(Array.emptyByteArray)))

    def play(events: Seq[Json]): Seq[Map[String, Any]] =
      stage.open(0, store, 0L).process(events.iterator.map(inputOf)).toVector

    private def inputOf(event: Json): GroupInput = {
      val row = new GroupInput.Row
      val value = event.toString.getBytes(UTF_8)
      row.value.set(value, 0, value.length)
      row.context.time = startOf(event)
      row.context.arrival = 0L
      row.context.end = endOf(event)
      if (event.has("kind")) new GroupInput.Punctuation(row) else row
    }
  }

  /** Stamped events as the fields of a vector. */
  private object EventFields extends JudgedRows[Map[String, Any]] {

    override def judged(row: ByteRange, stamp: Judgement): Map[String, Any] = {
      val event = Json.parse(new String(row.copied, UTF_8))
      val outcome =
        if (stamp.isPunctuation) "cti"
        else if (stamp.dropped != null) "dropped"
        else if (stamp.isAdjusted) "adjusted"
        else "accepted"
      val isAlive = !stamp.isPunctuation && stamp.dropped == null
      Map(
        "disposition" -> outcome,
        "lifetime" -> (if (isAlive) Vector(instant(stamp.time), instant(endOf(event)))
                       else null))
    }

    override def advance(to: Advance): Unit =
      require(to == Advance.Unknown, "the stage has no watermark of the input")
  }
}
