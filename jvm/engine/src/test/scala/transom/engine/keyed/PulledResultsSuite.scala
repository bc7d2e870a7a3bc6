package transom.engine.keyed

import munit.FunSuite

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.firing.{AfterCount, AfterWatermark, Every, EveryBatch, KeepLast}
import transom.engine.keyed.keystate.{Contents, MemoryKeyStore, PerKeyState}
import transom.engine.keyed.several.SeveralOperators
import transom.engine.runtime.{Emissions, Event, TaskOperator}
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.sweep.SweepOperators
import transom.engine.time.Advance
import transom.engine.window._

/** Results are computed as they are read: no operator is ahead of its reader. */
class PulledResultsSuite extends FunSuite {
  import PulledResultsSuite._

  private val rows = ApplyFunction("n long", RowsForm.Arrow, Nil)
  private val ofWindows = rows.copy(windowState = Some("n long"))
  private val lifetimes = Some(Lifetime(endColumn = Some(0)))

  private val specs = Seq(
    "tumbling" -> Specs.of(Tumbling(3)),
    "one result for each row" -> Specs.of(Tumbling(1000)).copy(trigger = AfterCount(1)),
    "many results for each row" -> Specs.of(Hopping(60, 1)).copy(trigger = AfterCount(1)),
    "the end of the batch" -> Specs.of(Hopping(60, 1)).copy(trigger = EveryBatch),
    "early results" -> Specs.of(Tumbling(60)).copy(trigger = AfterWatermark(Some(Every(1)))),
    "changes" -> Specs.of(Hopping(60, 1)).copy(trigger = AfterCount(1), retract = true),
    "the rows of a window" -> Specs.of(Tumbling(1000)).copy(function = rows),
    "ends of windows" -> Specs.of(Hopping(60, 1)).copy(function = ofWindows),
    "rows of an evictor" -> Specs
      .of(Tumbling(1000))
      .copy(function = rows, evictor = Some(KeepLast(100))),
    "sessions" -> Specs.of(Session(1)),
    "sessions with a maximum" -> Specs.of(Session(5, maxDurationUs = Some(7))),
    "count" -> Specs.of(Count(2)),
    "rolling" -> Specs.of(Rolling(20)),
    "the rows of rolling windows" -> Specs.of(Rolling(20)).copy(function = rows),
    "count by start" -> Specs.of(CountByStart(3)),
    "scan" -> Specs.of(CountByStart(1)).copy(function = rows),
    "snapshot" -> Specs.of(Snapshot()).copy(lifetime = lifetimes),
    "changes only" -> Specs.of(Hopping(9, 1)).copy(lifetime = lifetimes, changesOnly = true),
    "several windows" -> Specs.of(
      Windows(Seq(Rolling(20), Tumbling(3), Session(1)).map(NamedWindow(None, _)))))

  specs.foreach { case (name, spec) =>
    // All at the end of the batch, or all before the last row is added.
    Seq(false, true).foreach { metByRow =>
      test(s"results are computed one by one: $name, ${if (metByRow) "row" else "batch"}") {
        val emissions = new Emissions[Output]
        val counting = new Counting(emissions)
        val last = 2 * Rows
        val events = Iterator.tabulate(Rows)(n => rowOf(spec, 2L * n, Long.MinValue)) ++
          (if (metByRow) Iterator.single(rowOf(spec, last + 200L, last + 100L))
           else Iterator.empty) ++
          Iterator.single(new Event.Advanced(Advance.to(Long.MaxValue)))
        val results = operatorOf(spec, counting, emissions)
          .open(0, new MemoryKeyStore, 0L)
          .process(events)
        var read = 0
        while (results.hasNext) {
          assert(counting.emitted <= read + 1, s"${counting.emitted} results, $read are read")
          results.next()
          read += 1
        }
        assertEquals(counting.emitted, read)
        assert(read >= Rows / 4, read)
      }
    }
  }
}

private object PulledResultsSuite {
  private val Rows = 300

  private final class Counting(emissions: Emissions[Output]) extends Results[Row, Vector[Json]] {
    var emitted = 0

    private def emitOne(window: FiredWindow): Unit = {
      emitted += 1
      emissions.emit(Ended(TimeWindow(window.start, window.end)))
    }

    override def pointAt(key: Array[Byte]): Unit = ()
    override def emit(window: FiredWindow, values: Vector[Json]): Unit = emitOne(window)
    override def emitRows(window: FiredWindow, rows: Iterator[Row]): Iterator[Unit] =
      rows.map(_ => emitOne(window))
    override def emitChange(window: FiredWindow, change: Change, result: Array[Byte]): Unit =
      emitOne(window)
    override def emitEnd(window: FiredWindow): Unit = emitOne(window)
  }

  private def rowOf(spec: WindowSpec, time: Long, watermark: Long): Event.Row = {
    val zero = Json.parse("0")
    val row = Row(zero, zero, Some(time), time, end = time + 20)
    Operator.event(
      row,
      RowBytes.range(row),
      TimeConvention.of(spec.window),
      lateWatermark = watermark)
  }

  private def operatorOf(
      spec: WindowSpec,
      results: Counting,
      emissions: Emissions[Output]): TaskOperator[MemoryKeyStore, Output] = {
    val convention = TimeConvention.of(spec.window)
    val rows = new StoredRows(RowBytes, convention)
    def keyed[S <: PerKeyState](operators: PerKeyOperators[Row, S]) =
      new KeyedTaskOperator[MemoryKeyStore, Row, S, Output](
        spec,
        operators,
        rows,
        results,
        emissions,
        Operator.Side,
        Limits.Default,
        CommonClock.open)
    def operatorsOf(
        spec: WindowSpec,
        rows: Contents[Row],
        results: Results[Row, Vector[Json]]): PerKeyOperators[Row, _ <: PerKeyState] = {
      val aggregation = new JsonAggregation(_.map(_.value))
      if (spec.isSwept) new SweepOperators(spec, aggregation, RowBytes, rows, results)
      else {
        val plan = KeyedPlan.of(spec, aggregation, rows, KeyedSettings.NoConditions)
        new WindowOperators(spec, plan, rows, results)
      }
    }
    spec.window match {
      case windows: Windows =>
        keyed(new SeveralOperators(spec, windows, rows, RowBytes, results)(operatorsOf))
      case _ => keyed(operatorsOf(spec, rows, results))
    }
  }
}
