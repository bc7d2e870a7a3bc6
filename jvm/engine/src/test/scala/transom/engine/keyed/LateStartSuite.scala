package transom.engine.keyed

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.firing.AfterLateness
import transom.engine.runtime.{LateReason, RowCounts}
import transom.engine.spec._
import transom.engine.window.{Closed, DynamicSession, LateStart, Session, SessionModel, TimeWindow, Window}

/** Sessions that a row behind the watermark must not open (Atlas). */
class LateStartSuite extends ScalaCheckSuite {
  import LateStartSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1500))

  property("sessions and late rows are those of the rule") {
    forAllNoShrink(specs, streams) { (spec, stream) =>
      val (sessions, late) = played(new KeyedRunner(spec), stream)
      val model = new Model(spec)
      val lateByRule = stream.filter(model.isLate).map(_.number)
      assertEquals(late, lateByRule, s"$spec, $stream")
      assertEquals(sessions, model.closed, s"$spec, $stream")
    }
  }

  property("p4: the order of rows does not matter while sessions are open") {
    forAllNoShrink(openSessions, unordered) { (session, rows) =>
      val expected = sorted(rows.groupBy(_.key).toSeq.flatMap { case (key, own) =>
        def alone(came: Came) = TimeWindow(came.time, came.time + session.gapUs)
        SessionModel.merge(own.map(alone), session.inclusive).map { case (bounds, _) =>
          val held = own.filter(came => bounds.contains(alone(came)))
          (key, bounds, held.map(_.number).sorted)
        }
      })
      val spec = Specs.of(session)
      val log = Option.when(session.lateStart == LateStart.Open)(
        new SessionOperator(spec, GridOperator.SmallBundles))
      (new KeyedRunner(spec) +: log.toSeq).foreach { operator =>
        val outputs = rows.grouped(3).toSeq.flatMap { batch =>
          operator.batch(batch.map(_.row.copy(met = None)), 0, 0)
        } ++ operator.batch(Nil, 0, Long.MaxValue)
        assertEquals(sessions(outputs), expected, s"$session, $rows")
        assertEquals(lateRows(outputs), Nil, s"$session, $rows")
      }
    }
  }

  test("generated streams have late rows that join sessions and others that are rejected") {
    val seen = Generators.samples(1000, Gen.zip(specs, streams)).map { case (spec, stream) =>
      val model = new Model(spec)
      val late = stream.count(model.isLate)
      (late, stream.count(came => came.time < came.watermark) - late)
    }
    assert(seen.count(_._1 > 0) > 100, seen.count(_._1 > 0))
    assert(seen.count(_._2 > 0) > 100, seen.count(_._2 > 0))
  }

  test("a row at the watermark opens a session, a row before it does not") {
    Seq(Closed.Left, Closed.Right).foreach { closed =>
      val spec = specOf(Session(10, inclusive = false, closed, LateStart.Reject), lateness = 5)
      val stream = Seq(Came("a", 50, 50, 1), Came("a", 39, 50, 2), Came("b", 49, 50, 3))
      val (sessions, late) = played(new KeyedRunner(spec), stream)
      assertEquals(late, Seq(2L, 3L), s"$closed")
      assertEquals(sessions, Seq(("a", TimeWindow(50, 60), Seq(1L))), s"$closed")
    }
  }

  test("a gap of its own does not let a late row open a session") {
    val operator =
      new KeyedRunner(Specs.of(DynamicSession(0, lateStart = LateStart.Reject)))
    val rows = Seq(Came("a", 49, 50, 1), Came("a", 50, 50, 2)).map(_.row.copy(gap = 20))
    val outputs = rows.flatMap(row => operator.batch(Seq(row), 50, 50)) ++
      operator.batch(Nil, 50, Long.MaxValue)
    assertEquals(lateRows(outputs), Seq(1L))
    assertEquals(sessions(outputs), Seq(("a", TimeWindow(50, 70), Seq(2L))))
  }

  test("a late row joins a session that another row of its batch opens") {
    val spec = Specs.of(Session(10, lateStart = LateStart.Reject))
    val operator = new KeyedRunner(spec)
    val rows = Seq(Came("a", 45, 50, 1), Came("a", 52, 50, 2), Came("a", 30, 50, 3))
      .map(_.row.copy(met = None))
    val outputs = operator.batch(rows, 50, 50) ++ operator.batch(Nil, 50, Long.MaxValue)
    assertEquals(lateRows(outputs), Seq(3L))
    assertEquals(sessions(outputs), Seq(("a", TimeWindow(45, 62), Seq(1L, 2L))))
    assertEquals(operator.counts(RowCounts.Late), 1L)
  }

  test("the order of rows within a batch does not decide which of them join a session") {
    val window = Session(10, lateStart = LateStart.Reject)
    val spec = Specs.of(window, allowedLateness = 20).copy(trigger = AfterLateness)
    // 53 touches the open session, 62 touches only 53, and 69 touches only 62.
    Seq(53L, 62L, 69L).permutations.foreach { times =>
      val operator = new KeyedRunner(spec)
      operator.batch(Seq(Came("a", 45, 0, 0).row), 0, 70): Unit
      val rows = times.map(time => Came("a", time, 70, time).row.copy(met = None))
      val outputs = operator.batch(rows, 70, 70) ++ operator.batch(Nil, 70, Long.MaxValue)
      assertEquals(lateRows(outputs), Nil, s"$times")
      assertEquals(sessions(outputs).map(_._2), Seq(TimeWindow(45, 79)), s"$times")
    }
  }

  test("no row is late in processing time") {
    val spec = Specs.of(Session(10, lateStart = LateStart.Reject), ProcessingTime)
    val operator = new KeyedRunner(spec)
    val outputs = operator.batch(Seq(Came("a", 3, 50, 1).row.copy(clock = 5)), 50, 50)
    assertEquals(lateRows(outputs), Nil)
    operator.tick(15)
    assertEquals(operator.takeFired().map(_.window), Seq(TimeWindow(5, 15)))
  }
}

private object LateStartSuite {

  /** A row that arrives at a watermark. */
  final case class Came(key: String, time: Long, watermark: Long, number: Long) {
    def row: Row =
      Row(
        Json.parse(ujson.write(key)),
        Json.parse(s"$number"),
        Some(time),
        number,
        met = Some(watermark))
  }

  /** A session: its key, bounds, and the numbers of its rows. */
  type Closing = (Any, TimeWindow, Seq[Any])

  private val policy =
    TimePolicy(
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

  def specOf(window: Window, lateness: Long): WindowSpec =
    Specs.of(window, policy, lateness).copy(trigger = AfterLateness)

  val specs: Gen[WindowSpec] = for {
    gap <- Gen.choose(1L, 15L)
    inclusive <- Gen.oneOf(true, false)
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    lateness <- Gen.oneOf(Gen.const(0L), Gen.choose(1L, 12L))
  } yield specOf(Session(gap, inclusive, closed, LateStart.Reject), lateness)

  val streams: Gen[Seq[Came]] = {
    val move = Gen.zip(Gen.oneOf("a", "b"), Gen.choose(-20L, 8L), Gen.choose(0L, 6L))
    Gen.choose(1, 25).flatMap(Gen.listOfN(_, move)).map { moves =>
      val watermarks = moves.map(_._3).scanLeft(0L)(_ + _)
      moves.zip(watermarks).zipWithIndex.map { case (((key, shift, _), watermark), i) =>
        Came(key, watermark + shift, watermark, i.toLong)
      }
    }
  }

  val openSessions: Gen[Session] = for {
    gap <- Gen.choose(1L, 15L)
    inclusive <- Gen.oneOf(true, false)
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    lateStart <- Gen.oneOf(LateStart.Open, LateStart.Reject)
  } yield Session(gap, inclusive, closed, lateStart)

  /** Rows in no order. All of them meet the watermark 0. */
  val unordered: Gen[Seq[Came]] =
    Gen.listOf(Gen.zip(Gen.oneOf("a", "b"), Gen.choose(0L, 100L))).map {
      _.zipWithIndex.map { case ((key, time), i) => Came(key, time, 0, i.toLong) }
    }

  def played(operator: KeyedRunner, stream: Seq[Came]): (Seq[Closing], Seq[Long]) = {
    val outputs = stream.flatMap { came =>
      operator.batch(Seq(came.row), came.watermark, came.watermark)
    } ++ operator.batch(Nil, stream.last.watermark, Long.MaxValue)
    assert(operator.isEmpty, "state is left after the end of time")
    (sessions(outputs), lateRows(outputs))
  }

  def sessions(outputs: Seq[Any]): Seq[Closing] = sorted(outputs.collect { case fired: Fired =>
    (fired.key.value, fired.window, fired.values.map(_.value).sortBy(_.toString.toLong))
  })

  def lateRows(outputs: Seq[Any]): Seq[Long] = outputs.collect { case side: SideRow =>
    assert(side.reason == LateReason.LateSession, side)
    side.row
  }

  def sorted(closings: Seq[Closing]): Seq[Closing] =
    closings.sortBy { case (key, window, _) => (key.toString, window.start) }

  /** Sessions as lists of rows. A session is open as long as a row may still join it. */
  final class Model(spec: WindowSpec) {
    private val window = spec.window.asInstanceOf[Session]
    private val waits = if (window.closed == Closed.Right) 1L else 0L
    private var open = Seq.empty[Seq[Came]]
    private var over = Seq.empty[Seq[Came]]

    /** Adds a row. Returns whether the row is late. Watermarks must not fall. */
    def isLate(came: Came): Boolean = {
      val (passed, still) = open.partition { session =>
        session.map(_.time).max + window.gapUs + spec.allowedLatenessUs + waits <= came.watermark
      }
      val (met, others) = still.partition(_.exists(joins(came, _)))
      over ++= passed
      val isRejected = met.isEmpty && came.time < came.watermark
      open = if (isRejected) still else others :+ (met.flatten :+ came)
      isRejected
    }

    private def joins(a: Came, b: Came): Boolean = {
      val distance = math.abs(a.time - b.time)
      a.key == b.key && (distance < window.gapUs || window.inclusive && distance == window.gapUs)
    }

    /** All sessions, after the last row. */
    def closed: Seq[Closing] = sorted((over ++ open).map { rows =>
      val times = rows.map(_.time)
      (rows.head.key, TimeWindow(times.min, times.max + window.gapUs), rows.map(_.number).sorted)
    })
  }
}
