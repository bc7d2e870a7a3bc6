package transom.engine.keyed

import munit.FunSuite

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.firing.{AfterCount, AfterWatermark}
import transom.engine.keyed.contract.{PerKeyOperators, PerKeyState}
import transom.engine.spec._
import transom.engine.window.{RowContext, RowOutcome, Session, TimeWindow, Tumbling}

/** A host that calls the operator of a key for each row, without batches and without a store. */
class RowByRowSuite extends FunSuite {
  import RowByRowSuite._

  Seq(false, true).foreach { isStored =>
    val kept = if (isStored) "in bytes" else "in memory"

    test(s"a tumbling window with an early trigger runs row by row, with its state $kept") {
      val trigger = AfterWatermark(early = Some(AfterCount(2)))
      val host = Host(Specs.of(Tumbling(10)).copy(trigger = trigger), isStored)
      assertEquals(host.row(1, watermark = 0), (RowOutcome.Added, Nil))
      assertEquals(host.row(2, watermark = 0), (RowOutcome.Added, Seq(fired(0, 10, 1, 2))))
      assertEquals(host.row(3, watermark = 1), (RowOutcome.Added, Nil))
      // The row meets a watermark that closes the window before the row.
      assertEquals(host.row(14, watermark = 10), (RowOutcome.Added, Seq(fired(0, 10, 1, 2, 3))))
      assertEquals(host.row(4, watermark = 10), (RowOutcome.Late, Nil))
      assertEquals(host.missed, Seq(TimeWindow(0, 10)))
      assertEquals(host.nextTimer, 20L)
      assertEquals(host.advance(20), Seq(fired(10, 20, 14)))
      assert(host.isEmpty)
    }

    test(s"a session runs row by row, with its state $kept") {
      val host = Host(Specs.of(Session(5)), isStored)
      assertEquals(host.row(1, watermark = 0), (RowOutcome.Added, Nil))
      assertEquals(host.row(5, watermark = 4), (RowOutcome.Added, Nil))
      assertEquals(host.row(20, watermark = 10), (RowOutcome.Added, Seq(fired(1, 10, 1, 5))))
      assertEquals(host.row(3, watermark = 10), (RowOutcome.Late, Nil))
      assertEquals(host.missed, Seq(TimeWindow(3, 8)))
      // The session of the row alone has ended, but the row touches an open session.
      assertEquals(host.row(16, watermark = 22), (RowOutcome.Added, Nil))
      assertEquals(host.advance(25), Seq(fired(16, 25, 20, 16)))
      assert(host.isEmpty)
    }
  }
}

private object RowByRowSuite {

  /** A window that fires, and the values of its rows. */
  def fired(start: Long, end: Long, values: Long*): (TimeWindow, Seq[Long]) =
    (TimeWindow(start, end), values)

  /** The value of each row is its time. */
  final class Host[S <: PerKeyState](
      operators: PerKeyOperators[Row, S, Output],
      isStored: Boolean) {
    private val operator = operators.of(group = 0, firstRow = 0L)
    private var state = operators.codec.create()

    def row(time: Long, watermark: Long): (RowOutcome, Seq[(TimeWindow, Seq[Long])]) = {
      val arrival = new RowContext
      arrival.time = time
      arrival.watermark = watermark
      val due = advance(watermark)
      val row = Row(Json.parse("0"), Json.parse(time.toString), Some(time), 0L)
      val results = read(operator.process(state, row, arrival))
      (operator.outcome, due ++ results)
    }

    def advance(watermark: Long): Seq[(TimeWindow, Seq[Long])] =
      read(operator.advance(state, watermark, clock = 0L))

    def missed: Seq[TimeWindow] = operator.missedWindows.listed

    def nextTimer: Long = state.nextTimer

    def isEmpty: Boolean = state.isEmpty

    private def read(results: Iterator[Output]): Seq[(TimeWindow, Seq[Long])] = {
      val read = results.collect { case result: Fired =>
        (result.window, result.values.map(_.long))
      }.toVector
      if (isStored) state = operators.codec.decode(operators.codec.encode(state))
      read
    }
  }

  object Host {
    def apply(spec: WindowSpec, isStored: Boolean): Host[_ <: PerKeyState] = {
      val results = new ListResults[Row](_.value)
      results.pointAt("0".getBytes)
      of(
        KeyedOperators.of(
          spec,
          new JsonAggregation(_.map(_.value)),
          RowBytes,
          new RowsInMemory,
          KeyedSettings.NoConditions,
          results),
        isStored)
    }

    private def of[S <: PerKeyState](
        operators: PerKeyOperators[Row, S, Output],
        isStored: Boolean): Host[_ <: PerKeyState] = new Host[S](operators, isStored)
  }
}
