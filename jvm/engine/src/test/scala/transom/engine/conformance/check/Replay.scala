package transom.engine.conformance.check

import scala.collection.mutable.ArrayBuffer

import transom.engine.conformance.driver.{Fired, KeyedSettings, Operator, Row}
import transom.engine.conformance.vector.{Json, Malformed, Scale}
import transom.engine.keyed.contract.Change
import transom.engine.time.Ticks
import transom.engine.window.TimeWindow

/** Runs the steps of a vector, and compares the outputs with the expected ones. The clock and the
  * watermarks of a vector are one tick behind the engine's.
  *
  * @param inBatches
  *   whether the rows between two other steps form one batch; if false, each row is a batch
  */
final class Replay(
    vector: Json,
    aggregate: Seq[Json] => Seq[Any],
    operator: Operator,
    inBatches: Boolean) {

  private val scale = Scale.of(vector)
  private val settings = new KeyedSettings(vector, scale)
  private val dropsLate = vector("late_data").string == "drop"
  private var watermark = Long.MinValue
  private var clock = 0L
  private val waiting = ArrayBuffer.empty[Row]
  private val fired = ArrayBuffer.empty[Fired]
  private val late = ArrayBuffer.empty[Row]
  private var dropped = 0L

  /** Whether some row arrived behind the watermark. Known once `problems` has returned. */
  var metLateRows: Boolean = false

  def problems: Seq[String] = {
    val found = vector("steps").elements.zipWithIndex.flatMap { case (step, i) =>
      step("op").string match {
        case "element" => take(step, i.toLong)
        case "watermark" => advance(step("ts").long)
        case "processing_time" => tick(step("ts").long)
        case "snapshot_restore" => flush()
        case "expect" => expect(step).map(problem => s"step $i: $problem")
        case other => throw new Malformed(s"steps[$i].op is $other")
      }
    }
    flush()
    found ++ vector.get("expected_dropped_total").filter(_ => dropsLate).flatMap { total =>
      Outcome.compare("late rows in all", total.long, dropped)
    }
  }

  private def take(step: Json, arrival: Long): Seq[String] = {
    waiting += Row(
      step("key"),
      step("value"),
      step.get("ts").map(ts => scale.in(ts.long)),
      arrival,
      clock,
      step.get("gap_ms").fold(0L)(gap => scale.in(gap.long)),
      step.get("windows").fold(Seq.empty[TimeWindow])(_.elements.map(scale.window)))
    if (inBatches) Nil else flush()
  }

  private def flush(): Seq[String] = {
    if (waiting.nonEmpty) {
      metLateRows ||= waiting.exists(_.time.exists(_ < watermark))
      val found = operator.process(waiting.toSeq, watermark)
      late ++= found
      dropped += found.size
      fired ++= operator.takeFired()
      waiting.clear()
    }
    Nil
  }

  /** Flink's watermark includes rows at `ts`. Spark's watermark excludes rows at its own time. */
  private def advance(ts: Long): Seq[String] = {
    flush()
    watermark = Math.max(watermark, Ticks.add(scale.in(ts), scale.unit))
    fired ++= operator.fire(watermark)
    Nil
  }

  private def tick(ts: Long): Seq[String] = {
    flush()
    clock = scale.in(ts)
    operator.tick(Ticks.add(clock, scale.unit))
    fired ++= operator.takeFired()
    Nil
  }

  private def expect(step: Json): Seq[String] = {
    flush()
    val outputs = step("outputs").elements
    val lateRows = step.get("late").fold(Seq.empty[Json])(_.elements)
    val shown = fired.toSeq.flatMap(show)
    val optional = Seq("window", "window_id").filterNot(name => outputs.forall(_.has(name)))
    val named = shown.map(_ -- optional)
    val problems =
      Outcome.compareInAnyOrder("outputs", outputs.map(_.value), named) ++
        Outcome
          .compareInAnyOrder("late rows", lateRows.map(_.value), late.toSeq.map(show))
          .filterNot(_ => dropsLate) ++
        step.get("dropped_so_far").flatMap { total =>
          Outcome.compare("late rows so far", total.long, dropped)
        }
    fired.clear()
    late.clear()
    problems.toSeq ++ contents(step)
  }

  private def show(result: Fired): Seq[Map[String, Any]] =
    result.reported.getOrElse(aggregate(result.values)).map { value =>
      val end = if (settings.isCount) null else scale.out(result.window.end) - 1
      Map(
        "key" -> result.key.value,
        "value" -> value,
        "ts" -> (if (settings.isGlobal) Long.MaxValue else end),
        "window" ->
          (if (settings.isGlobal || settings.isCount) null else scale.show(result.window))) ++
        result.change.map(change => "kind" -> Replay.kinds(change)) ++
        result.pane.flatMap(_.number).map(number => "window_id" -> number)
    }

  /** Compares the number of stored rows, if the vector states it. */
  private def contents(step: Json): Option[String] =
    step.get("window_state").flatMap { held =>
      Outcome.compare("rows that are held", held.elements.size, operator.storedRows)
    }

  private def show(row: Row): Map[String, Any] =
    Map(
      "key" -> row.key.value,
      "value" -> row.value.value,
      "ts" -> row.time.map(scale.out).orNull)
}

object Replay {
  private val kinds: Map[Change, String] =
    Map(Change.Insert -> "+I", Change.UpdateBefore -> "-U", Change.UpdateAfter -> "+U")
}
