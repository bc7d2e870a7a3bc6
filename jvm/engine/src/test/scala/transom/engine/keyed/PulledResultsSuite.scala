package transom.engine.keyed

import munit.FunSuite

import transom.engine.firing.{AfterCount, AfterWatermark, Every, EveryBatch, KeepLast}
import transom.engine.judge.CommonWatermark
import transom.engine.keyed.contract.{Change, FiredWindow, Results}
import transom.engine.keyed.keystate.MemoryKeyStore
import transom.engine.runtime.{GroupInput, TaskOperator}
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.time.Advance
import transom.engine.window._
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json

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
        val counting = new Counting
        val last = 2 * Rows
        val inputs = Iterator.tabulate(Rows)(n => rowOf(spec, 2L * n, Long.MinValue)) ++
          (if (metByRow) Iterator.single(rowOf(spec, last + 200L, last + 100L))
           else Iterator.empty) ++
          Iterator.single(new GroupInput.Advanced(Advance.to(Long.MaxValue)))
        val results = operatorOf(spec, counting).open(0, new MemoryKeyStore, 0L).process(inputs)
        var read = 0
        while (results.hasNext) {
          assert(counting.emitted <= read, s"${counting.emitted} results, $read are read")
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

  private final class Counting extends Results[Row, Vector[Json], Output] {
    var emitted = 0

    private def one(window: FiredWindow): Output = {
      emitted += 1
      Ended(TimeWindow(window.start, window.end))
    }

    override def pointAt(key: Array[Byte]): Unit = ()
    override def result(window: FiredWindow, values: Vector[Json]): Output = one(window)
    override def ofRows(window: FiredWindow, rows: Iterator[Row]): Iterator[Output] =
      rows.map(_ => one(window))
    override def change(window: FiredWindow, change: Change, result: Array[Byte]): Output =
      one(window)
    override def windowGone(window: FiredWindow): Output = one(window)
  }

  private def rowOf(spec: WindowSpec, time: Long, watermark: Long): GroupInput.Row = {
    val zero = Json.parse("0")
    val row = Row(zero, zero, Some(time), time, end = time + 20)
    Operator.input(row, RowBytes.range(row), spec.window.convention, lateWatermark = watermark)
  }

  private def operatorOf(
      spec: WindowSpec,
      results: Counting): TaskOperator[MemoryKeyStore, Output] = {
    val rows = new EncodedRowStore(RowBytes, spec.window.convention)
    val aggregation = new JsonAggregation(_.map(_.value))
    new KeyedTaskOperator(
      spec,
      KeyedOperators.of(spec, aggregation, RowBytes, rows, KeyedSettings.NoConditions, results),
      rows,
      results,
      Operator.Side,
      Limits.Default,
      CommonWatermark.open)
  }
}
