package transom.engine.conformance.check

import transom.engine.judge._
import transom.engine.runtime.{DeadLetterReason, GroupInput, KeyGroupOperator, RowCounts}
import transom.engine.spec._
import transom.engine.state.{ByteRange, MemoryState}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.GridModel
import transom.engine.conformance.vector.{Json, Malformed, Scale}

/** Vectors of Azure Stream Analytics about time policies, run through the time stage. */
object PolicyVectors {

  def run(vector: Json): Outcome = {
    val events = vector("events").elements
    if (events.exists(_.has("kind"))) InputVectors.run(vector) else runStage(vector, events)
  }

  private def runStage(vector: Json, events: Seq[Json]): Outcome = {
    val policy = vector("policy")
    val logic = new TimePolicyLogic(policyOf(policy))
    val oneByOne = new PolicyRunner(logic, policy)
    val stamps = events.flatMap { event =>
      val stamp = oneByOne.process(Seq(event)).head
      Seq(stamp ++ oneByOne.watermarks(event))
    }
    val atOnce = new PolicyRunner(logic, policy)
    val expected = vector("expected")
    val counted =
      Seq(
        "early" -> RowCounts.Early,
        "late" -> RowCounts.LateArrival,
        "out_of_order" -> RowCounts.OutOfOrder,
        "adjusted" -> RowCounts.Adjusted,
        "dropped" -> RowCounts.Dropped).map { case (name, count) =>
        name -> oneByOne.counts(count)
      }
    Outcome.of(
      expected("per_event").elements.zip(stamps).flatMap { case (row, stamp) =>
        Outcome.compare(s"row ${row("seq")}", fieldsOf(row), stamp)
      } ++
        Outcome.compare(
          "rows in one batch",
          stamps.map(_ -- Seq("watermark", "watermark_with_idle_floor")),
          atOnce.process(events)) ++
        Outcome.compare(
          "metrics",
          counted.map { case (name, _) => name -> expected("metrics")(name).value },
          counted))
  }

  private def fieldsOf(row: Json): Map[String, Any] = Map(
    "system_timestamp" -> row("system_timestamp").value,
    "disposition" -> row("disposition").value,
    "adjusted_by" -> row.get("adjusted_by").fold[Any](Vector.empty)(_.value),
    "watermark" -> row("watermark").value,
    "watermark_with_idle_floor" -> row("watermark_with_idle_floor").value)

  private[check] def policyOf(policy: Json): TimePolicy = {
    val scale = Scale.of(policy)
    def rule(name: String): Option[TimeRule] =
      policy.get(s"${name}_tolerance_ms").map { tolerance =>
        val beyond = scale.in(tolerance.long)
        policy(s"${name}_action").string match {
          case "drop" => Drop(beyond)
          case "adjust" => Adjust(beyond)
          case other => throw new Malformed(s"unknown action $other")
        }
      }
    val isByTime = policy("clock").string == "application"
    TimePolicy(
      timeColumn = Option.when(isByTime)(0),
      arrivalColumn = Some(1),
      partitionColumn = None,
      partitions = Nil,
      overColumns = if (policy.has("over")) Seq(2) else Nil,
      early = rule("early").filter(_ => isByTime),
      late = rule("late").filter(_ => isByTime),
      outOfOrder = rule("out_of_order").getOrElse(Accept(0)),
      advance = Periodic(Some(1), None),
      idlePartitionUs = None,
      estimateArrival = false)
  }
}

/** Runs the time stage over one key group, with state in memory. Each call is a batch. */
private final class PolicyRunner(logic: TimePolicyLogic, policy: Json) {
  private val store = new SourceStore(new MemoryState)
  private val stage =
    new TimeStage((store, _) => new SourceWatermarks(logic, store), StampFields)
  val counts = new RowCounts

  def process(events: Seq[Json]): Seq[Map[String, Any]] = {
    val operator: KeyGroupOperator[Map[String, Any]] = stage.open(0, store, 0L)
    val stamps = operator.process(events.iterator.map(inputOf)).toVector
    counts.add(operator.counts.bytes)
    stamps
  }

  /** The watermarks of the source of a row. */
  def watermarks(event: Json): Map[String, Any] = {
    val clock = SourceWatermark.of(store.sources.get(sourceOf(event)))
    Map(
      "watermark" -> StampFields.shown(clock.watermark),
      "watermark_with_idle_floor" -> StampFields.shown(logic.watermarkOf(clock)))
  }

  private def inputOf(event: Json): GroupInput = {
    val row = new GroupInput.Row
    val source = sourceOf(event)
    row.key.set(source, 0, source.length)
    row.context.time = SeedVectors.micros(event("event_time"))
    row.context.arrival = SeedVectors.micros(event("arrival_time"))
    row
  }

  private def sourceOf(event: Json): Array[Byte] =
    policy.get("over").fold(Array.emptyByteArray)(over => event(over.string).string.getBytes)
}

/** Stamps as the fields of a vector. */
private[check] object StampFields extends JudgedRows[Map[String, Any]] {

  override def judged(row: ByteRange, stamp: Judgement): Map[String, Any] = Map(
    "system_timestamp" -> (if (stamp.dropped == null) shown(stamp.time) else null),
    "disposition" -> (stamp.dropped match {
      case null => "accepted"
      case DeadLetterReason.LateArrival => "dropped_late"
      case reason => s"dropped_${reason.name}"
    }),
    "adjusted_by" -> (if (stamp.isAdjusted) stamp.broken.toSeq.map(nameOf) else Nil).toVector)

  private def nameOf(rule: PolicyRule): String = rule match {
    case PolicyRule.Early => "early"
    case PolicyRule.LateArrival => "late"
    case PolicyRule.OutOfOrder => "out_of_order"
  }

  override def advance(to: Advance): Unit =
    require(to == Advance.Unknown, "the stage has no watermark of the input")

  def shown(time: Long): Any =
    if (time == Watermark.NotYet) null else GridModel.toInstant(time).toString
}
