package transom.engine.conformance.check

import scala.collection.mutable

import transom.engine.conformance.driver.{FixedTrigger, KeyedSettings, Row}
import transom.engine.conformance.vector.{Json, Malformed, Scale, Unsupported}
import transom.engine.firing.{PurgingLogic, TriggerContext, TriggerLogic, TriggerMemory, TriggerResult}
import transom.engine.time.{Ticks, Timeline}
import transom.engine.window.{RowContext, TimeWindow}

/** Runs vectors about a single trigger, without an operator. */
object TriggerKind {

  def run(vector: Json): Outcome = {
    val bench = new TriggerBench(vector)
    Outcome.of(vector("steps").elements.zipWithIndex.flatMap { case (step, i) =>
      bench.play(step).map(problem => s"step $i: $problem")
    })
  }

  /** Runs vectors about the results of `Purging` for each result of its nested trigger. */
  def purging(vector: Json): Outcome = {
    val named = Seq(
      TriggerResult.Continue,
      TriggerResult.Fire,
      TriggerResult.Purge,
      TriggerResult.FireAndPurge).map(result => nameOf(result) -> result).toMap
    Outcome.of(vector("cases").elements.flatMap { query =>
      val nested = named(query("nested").string)
      val logic = new PurgingLogic(new FixedTrigger(nested, nested))
      val answers = Seq(logic.onRow(null), logic.onTimer(Timeline.Clock, 0L, null))
      Outcome.compare(s"$query", Seq.fill(2)(query("result").string), answers.map(nameOf))
    })
  }

  def nameOf(result: TriggerResult): String = (result.fires, result.purges) match {
    case (true, true) => "FIRE_AND_PURGE"
    case (true, false) => "FIRE"
    case (false, true) => "PURGE"
    case (false, false) => "CONTINUE"
  }
}

/** Provides memory and timers of windows to a trigger. */
private final class TriggerBench(vector: Json) {

  private val scale = Scale.of(vector)
  private val onTime = vector("trigger")("type").string != "processing_time"
  private val logic: TriggerLogic[Row, Vector[Json]] =
    KeyedSettings.trigger(vector("trigger"), scale).logic(KeyedSettings.NoConditions)
  private val windows = mutable.LinkedHashMap.empty[TimeWindow, Bench]
  private var watermark = Long.MinValue
  private var clock = Long.MinValue
  private var time = RowContext.NoTime
  private var rowClock = Long.MinValue

  private final class Bench(bounds: TimeWindow) extends TriggerContext[Row, Vector[Json]] {
    val memory = mutable.Map.empty[Int, Long]
    val timers = mutable.SortedSet.empty[(Long, Boolean)]

    override def apply(slot: Int): Long = memory.getOrElse(slot, TriggerMemory.Unset)
    override def timeline: Timeline = if (onTime) Timeline.Event else Timeline.Clock
    override def end: Long = bounds.end
    override def cleanup: Long = bounds.end
    override def watermark: Long = TriggerBench.this.watermark
    override def clock: Long = TriggerBench.this.clock
    override def row: Row = Unsupported("triggers alone see no rows")
    override def time: Long = TriggerBench.this.time
    override def rowClock: Long = TriggerBench.this.rowClock
    override def accumulator: Vector[Json] = Vector.empty
    override def update(slot: Int, value: Long): Unit =
      if (value == TriggerMemory.Unset) memory -= slot else memory(slot) = value
    override def addTimer(timeline: Timeline, timer: Long): Unit =
      timers += ((timer, timeline == Timeline.Clock))
    override def removeTimer(timeline: Timeline, timer: Long): Unit =
      timers -= ((timer, timeline == Timeline.Clock))
    override def rememberedRow(slot: Int): Row = row
    override def remember(slot: Int, row: Row): Unit = update(slot, 1L)
    override def forget(slot: Int): Unit = unset(slot)
  }

  private def at(window: Json): Bench = {
    val bounds = scale.window(window)
    windows.getOrElseUpdate(bounds, new Bench(bounds))
  }

  def play(step: Json): Seq[String] = step("op").string match {
    case "trigger_element" =>
      time = step.get("ts").fold(RowContext.NoTime)(ts => scale.in(ts.long))
      val answer = TriggerKind.nameOf(logic.onRow(at(step("window"))))
      Outcome.compare("answer", step("expect").string, answer).toSeq
    case "advance_watermark" =>
      watermark = Ticks.add(scale.in(step("ts").long), scale.unit)
      fire(step, isClock = false)
    case "advance_processing_time" =>
      rowClock = scale.in(step("ts").long)
      clock = Ticks.add(rowClock, scale.unit)
      fire(step, isClock = true)
    case "clear" =>
      logic.clear(at(step("window")))
      Nil
    case "merge" =>
      merge(step)
      Nil
    case "invoke_on_event_time" =>
      val timer = Ticks.add(scale.in(step("ts").long), scale.unit)
      logic.onTimer(Timeline.Event, timer, at(step("window")))
      Nil
    case "expect_counts" => counts(step)
    case other => throw new Malformed(s"op is $other")
  }

  /** Calls each expired timer once. Timers that these calls set wait for the next step. */
  private def fire(step: Json, isClock: Boolean): Seq[String] = {
    val (now, timeline) =
      if (isClock) (clock, Timeline.Clock) else (watermark, Timeline.Event)
    val expired = for {
      (bounds, window) <- windows.toVector
      timer <- window.timers.toVector if timer._2 == isClock && timer._1 <= now
    } yield (bounds, window, timer)
    val fired = expired.flatMap { case (bounds, window, timer) =>
      window.timers -= timer
      val result = logic.onTimer(timeline, timer._1, window)
      Option.when(result != TriggerResult.Continue)(
        Map("window" -> scale.show(bounds), "result" -> TriggerKind.nameOf(result)))
    }
    val expected = step("fired").elements.map(_.value)
    step("match").string match {
      case "exact" => Outcome.compareInAnyOrder("fired", expected, fired).toSeq
      case "contains" => Outcome.compare("not fired", Nil, expected.diff(fired)).toSeq
      case "any" => Nil
    }
  }

  /** Passes the memory of the sources to the merged window. As in Flink, their timers stay. */
  private def merge(step: Json): Unit = {
    val sources = step("sources").elements.map(at)
    val memory = sources.map { source =>
      val held = source.memory.toMap
      source.memory.clear()
      new TriggerMemory {
        override def apply(slot: Int): Long = held.getOrElse(slot, TriggerMemory.Unset)
      }
    }
    logic.onMerge(memory, at(step("result")))
    sources.foreach(logic.clear)
  }

  private def counts(step: Json): Seq[String] = {
    val query = step +: step.get("per_window").fold(Seq.empty[Json])(_.elements)
    query.flatMap { counted =>
      val some = counted.get("window").fold(windows.values.toSeq)(window => Seq(at(window)))
      val got = Map(
        "state_entries" -> some.map(_.memory.size).sum,
        "event_time_timers" -> some.map(_.timers.count(!_._2)).sum,
        "processing_time_timers" -> some.map(_.timers.count(_._2)).sum)
      got.flatMap { case (name, count) =>
        counted.get(name).flatMap(wanted => Outcome.compare(name, wanted.long, count.toLong))
      }
    }
  }
}
