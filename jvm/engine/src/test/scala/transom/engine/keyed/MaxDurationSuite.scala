package transom.engine.keyed

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver.{Fired, KeyedRunner, Output, Row, SideRow, Specs}
import transom.engine.conformance.vector.Json
import transom.engine.keyed.contract._
import transom.engine.runtime.LateReason
import transom.engine.spec._
import transom.engine.window.{Closed, DynamicSession, LateStart, MaxCheck, Session, SessionWindow, TimeWindow, Window}

/** Sessions with a maximum duration, compared with models of the rule (Azure). */
class MaxDurationSuite extends ScalaCheckSuite {
  import MaxDurationModel._
  import MaxDurationSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1500))

  property("without late rows, sessions depend on the times of rows alone") {
    forAllNoShrink(windows, streams(earliest = 0L), Gen.oneOf(true, false)) {
      (generated, moves, keepsRows) =>
        val plain = (generated, numbered(generated, moves))
        val hasTies = generated.inclusive && generated.closed == Closed.Left
        val (window, batches) = if (hasTies) withoutTies(plain._1, plain._2) else plain
        val spec = specOf(window, keepsRows)
        val rows = batches.flatMap(_.rows)
        val expected = atOnce(window, rows)
        val shown = s"$window, $batches"
        val model = new Stream(window)
        assertEquals(rows.filter(model.isLate), Nil, shown)
        assertEquals(sessions(byBatches(new KeyedRunner(spec), batches)), expected, shown)
        val staged = new KeyedRunner(spec.copy(time = Some(policy)))
        assertEquals(sessions(rowByRow(staged, batches)), expected, shown)
        val static = Seq(Batch(rows.map(_.copy(met = Long.MinValue)), Long.MinValue))
        assertEquals(sessions(byBatches(new KeyedRunner(spec), static)), expected, shown)
    }
  }

  property("late rows join the sessions of the rule, or are late") {
    forAllNoShrink(windows, streams(earliest = -30L)) { (window, moves) =>
      val batches = numbered(window, moves)
      val model = new Stream(window)
      val lateByRule = batches.flatMap(_.rows).filter(model.isLate).map(_.number)
      model.advance(Long.MaxValue)
      val staged = new KeyedRunner(specOf(window).copy(time = Some(policy)))
      val outputs = rowByRow(staged, batches)
      assertEquals(lateRows(outputs), lateByRule, s"$window, $batches")
      assertEquals(sessions(outputs), model.closed, s"$window, $batches")
    }
  }

  property("p7: no session lasts longer than twice the maximum duration") {
    forAllNoShrink(windows, streams(earliest = -30L)) { (window, moves) =>
      val outputs = byBatches(new KeyedRunner(specOf(window)), numbered(window, moves))
      sessions(outputs).foreach { case (_, bounds, _) =>
        assert(bounds.end - bounds.start <= 2 * window.maxDurationUs.get, s"$window, $moves")
      }
    }
  }

  test("generated streams have sessions that a check closes, and late rows that join") {
    val seen =
      Generators.samples(2000, Gen.zip(windows, streams(-30L))).map { case (window, moves) =>
        val rows = numbered(window, moves).flatMap(_.rows)
        val model = new Stream(window)
        val late = rows.count(model.isLate)
        model.advance(Long.MaxValue)
        val checked = model.closed.count(_._2.end % window.maxDurationUs.get == 0)
        (late, rows.count(row => row.time < row.met) - late, checked)
      }
    assert(seen.count(_._1 > 0) > 300, seen.count(_._1 > 0))
    assert(seen.count(_._2 > 0) > 300, seen.count(_._2 > 0))
    assert(seen.count(_._3 > 2) > 300, seen.count(_._3 > 2))
  }

  private def closings(window: SessionWindow, times: Long*): Seq[(Long, Long, Int)] = {
    val rows = times.zipWithIndex.map { case (time, i) =>
      Came("a", time, 5, i.toLong, Long.MinValue)
    }
    val outputs = byBatches(new KeyedRunner(specOf(window)), Seq(Batch(rows, 0)))
    sessions(outputs).map { case (_, bounds, rows) => (bounds.start, bounds.end, rows.size) }
  }

  private val tens = Session(5, maxDurationUs = Some(10))

  test("the next session starts at the check if its first row is within the gap") {
    assertEquals(closings(tens, 3, 7, 12, 17, 18, 22), Seq((3L, 20L, 5), (20L, 27L, 1)))
    assertEquals(closings(tens, 3, 7, 12, 17, 18, 24), Seq((3L, 20L, 5), (24L, 29L, 1)))
  }

  test("a check closes a session that is still open, even if no row follows") {
    assertEquals(closings(tens, 3, 7, 12, 17), Seq((3L, 20L, 4)))
    assertEquals(closings(tens, 3, 7, 12, 14), Seq((3L, 19L, 4)))
  }

  test("a row at the check is in the next session, or in the session that includes its end") {
    val times = Seq(3L, 7L, 12L, 16L, 20L)
    assertEquals(closings(tens, times: _*), Seq((3L, 20L, 4), (20L, 25L, 1)))
    val right = tens.copy(closed = Closed.Right)
    assertEquals(closings(right, times: _*), Seq((3L, 20L, 5)))
    assertEquals(closings(right, times :+ 21L: _*), Seq((3L, 20L, 5), (20L, 26L, 1)))
  }

  test("an age of just the maximum duration is too long for >=, and not for >") {
    val times = Seq(20L, 24L, 28L, 32L, 36L, 39L)
    assertEquals(closings(tens, times: _*), Seq((20L, 30L, 3), (30L, 40L, 3)))
    val above = tens.copy(maxCheck = MaxCheck.Above)
    assertEquals(closings(above, times: _*), Seq((20L, 40L, 6)))
  }

  test("an earlier row that comes later moves the check that closes the session") {
    val operator = new KeyedRunner(specOf(tens))
    def batch(watermark: Long, next: Long, times: Long*): Seq[Output] = operator.batch(
      times.map(time => rowOf(Came("a", time, 5, time, watermark))),
      watermark,
      next)
    batch(0, 8, 11, 15, 20, 25): Unit
    // Without the row at 8, the session would be open from 11 to 30.
    val outputs = batch(8, 20, 8) ++ batch(20, Long.MaxValue)
    assertEquals(sessions(outputs).map(_._2), Seq(TimeWindow(8, 20), TimeWindow(20, 30)))
  }

  test("a pause of many checks costs no work for each check") {
    val gap = 1000000000000L
    val window = Session(gap, maxDurationUs = Some(1))
    val rows = Seq(Came("a", 0, gap, 1, Long.MinValue), Came("a", gap, gap, 2, Long.MinValue))
    val outputs = byBatches(new KeyedRunner(specOf(window)), Seq(Batch(rows, gap / 2)))
    assertEquals(
      sessions(outputs),
      Seq(("a", TimeWindow(0, 1), Seq(1L)), ("a", TimeWindow(gap, gap + 1), Seq(2L))))
  }

  test("a key is due at the end of its earliest session") {
    val operator = new KeyedRunner(specOf(tens))
    def nextTimer(watermark: Long, times: Long*): Long = {
      operator.batch(times.map(t => rowOf(Came("a", t, 5, t, 0))), 0, watermark): Unit
      operator.nextTimer
    }
    assertEquals(nextTimer(0, 3), 8L)
    assertEquals(nextTimer(8, 7), 12L)
    assertEquals(nextTimer(12, 12, 17), 20L)
    assertEquals(nextTimer(20), 22L)
    assertEquals(nextTimer(22), Long.MaxValue)
    assert(operator.isEmpty)
  }

  test("a session fires once, and the firing is its last") {
    val operator = new KeyedRunner(specOf(tens).copy(pane = true))
    val rows = Seq(3L, 7L, 12L, 17L).map(time => rowOf(Came("a", time, 5, time, 0)))
    val panes = operator.batch(rows, 0, 20).collect { case fired: Fired => fired.pane.get }
    assertEquals(panes, Seq(PaneInfo(0, Timing.OnTime, isLast = true, None, Cause.Watermark)))
  }

  test("in processing time the wall clock closes sessions at the checks") {
    val operator = new KeyedRunner(Specs.of(tens, ProcessingTime))
    Seq(3L, 7L, 11L, 15L, 18L).foreach { clock =>
      operator.batch(Seq(rowOf(Came("a", 0, 5, clock, 0)).copy(clock = clock)), 0, 0): Unit
    }
    operator.tick(19)
    assertEquals(operator.takeFired(), Nil)
    operator.tick(20)
    assertEquals(operator.takeFired().map(_.window), Seq(TimeWindow(3, 20)))
    operator.batch(Seq(rowOf(Came("a", 0, 5, 22, 0)).copy(clock = 22)), 0, 0): Unit
    operator.tick(27)
    assertEquals(operator.takeFired().map(_.window), Seq(TimeWindow(20, 27)))
    assert(operator.isEmpty)
  }
}

private object MaxDurationSuite {
  import MaxDurationModel._

  /** Rows, and the watermark by which sessions are closed after them. */
  final case class Batch(rows: Seq[Came], watermark: Long)

  /** For each batch: the rows, each with its key, its distance to the watermark and its gap, and
    * the distance to the next watermark.
    */
  type Moves = Seq[(Seq[(String, Long, Long)], Long)]

  val policy: TimePolicy = TimePolicy(
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

  val windows: Gen[SessionWindow] = for {
    gap <- Gen.oneOf(Gen.choose(1L, 15L), Gen.choose(10L, 60L))
    inclusive <- Gen.oneOf(true, false)
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    lateStart <- Gen.oneOf(LateStart.Open, LateStart.Reject)
    longest <- Gen.choose(1L, 25L)
    check <- Gen.oneOf(MaxCheck.AtLeast, MaxCheck.Above)
    window <- Gen.oneOf[SessionWindow](
      Session(gap, inclusive, closed, lateStart, Some(longest), check),
      DynamicSession(0, inclusive, closed, lateStart, Some(longest), check))
  } yield window

  /** Streams whose rows are at least `earliest` after the watermark that they meet. */
  def streams(earliest: Long): Gen[Moves] = {
    val row = Gen.zip(Gen.oneOf("a", "b"), Gen.choose(earliest, 25L), Gen.choose(1L, 20L))
    val move = Gen.zip(
      Gen.choose(0, 8).flatMap(Gen.listOfN(_, row)),
      Gen.oneOf(Gen.choose(0L, 6L), Gen.choose(0L, 40L)))
    Gen.choose(1, 10).flatMap(Gen.listOfN(_, move))
  }

  /** Batches with numbered rows. */
  def numbered(window: SessionWindow, moves: Moves): Seq[Batch] = {
    var reached = 0L
    var number = 0L
    moves.map { case (rows, by) =>
      val met = reached
      val came = rows.map { case (key, shift, gap) =>
        number += 1
        val own = window match {
          case session: Session => session.gapUs
          case _: DynamicSession => gap
        }
        Came(key, met + shift, own, number, met)
      }
      reached += by
      Batch(came, reached)
    }
  }

  /** Doubles all times and lengths, and moves watermarks between the times.
    *
    * An inclusive session that excludes its end fires when the watermark is at its end, although
    * a row at this time could still join the session. With such a row, the times alone do not
    * determine the sessions.
    */
  def withoutTies(window: SessionWindow, batches: Seq[Batch]): (SessionWindow, Seq[Batch]) = {
    val longest = window.maxDurationUs.map(_ * 2)
    val doubled = window match {
      case fixed: Session => fixed.copy(gapUs = 2 * fixed.gapUs, maxDurationUs = longest)
      case dynamic: DynamicSession => dynamic.copy(maxDurationUs = longest)
    }
    (
      doubled,
      batches.map { case Batch(rows, watermark) =>
        val moved = rows.map { row =>
          row.copy(time = 2 * row.time, gap = 2 * row.gap, met = 2 * row.met - 1)
        }
        Batch(moved, 2 * watermark - 1)
      })
  }

  def specOf(window: Window, keepsRows: Boolean = false): WindowSpec = {
    val function = if (keepsRows) ApplyFunction("", RowsForm.Arrow, Nil) else AggFunction(Nil)
    Specs.of(window).copy(function = function)
  }

  def rowOf(came: Came): Row = Row(
    Json.parse(ujson.write(came.key)),
    Json.parse(s"${came.number}"),
    Some(came.time),
    came.number,
    gap = came.gap)

  /** Each row meets the watermark of the batch before. */
  def byBatches(operator: KeyedRunner, batches: Seq[Batch]): Seq[Output] = {
    val met = Long.MinValue +: batches.map(_.watermark)
    val outputs = batches.zip(met).flatMap { case (batch, before) =>
      operator.batch(batch.rows.map(rowOf), before, batch.watermark)
    } ++ operator.batch(Nil, met.last, Long.MaxValue)
    assert(operator.isEmpty && operator.storedRows == 0, "state is left after the end of time")
    outputs
  }

  /** Each row is a batch of its own, and meets its own watermark. */
  def rowByRow(operator: KeyedRunner, batches: Seq[Batch]): Seq[Output] = {
    val outputs = batches.flatMap(_.rows).flatMap { came =>
      operator.batch(Seq(rowOf(came).copy(met = Some(came.met))), came.met, came.met)
    } ++ operator.batch(Nil, batches.last.watermark, Long.MaxValue)
    assert(operator.isEmpty && operator.storedRows == 0, "state is left after the end of time")
    outputs
  }

  def sessions(outputs: Seq[Output]): Seq[Closing] = sorted(outputs.collect { case fired: Fired =>
    (fired.key.string, fired.window, fired.values.map(_.long).sorted)
  })

  def lateRows(outputs: Seq[Output]): Seq[Long] = outputs.collect { case side: SideRow =>
    assert(side.reason == LateReason.LateSession, side)
    side.row
  }
}
