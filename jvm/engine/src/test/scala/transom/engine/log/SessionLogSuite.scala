package transom.engine.log

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalacheck.Prop.{forAll, forAllNoShrink}
import org.scalacheck.Test.Parameters

import transom.engine.{Generators, Sessions, TimeWindow}
import transom.engine.conformance.{Fired, Json, Row, SessionOperator}

class SessionLogSuite extends LogTest {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(3000))

  /** Sessions kept one by one. In a batch those not behind the watermark come first. */
  private final class SessionContents(gap: Long, inclusive: Boolean) extends Model {
    private val open = mutable.LinkedHashMap.empty[(String, TimeWindow), Vector[Row]]

    override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
      val (late, onTime) = rows.partition(own(_).end <= watermark)
      onTime.foreach(join)
      late.sortBy(-_.time.get).filter { row =>
        val alone = touched(row).isEmpty
        if (!alone) join(row)
        alone
      }
    }

    private def own(row: Row): TimeWindow = Sessions.windowOf(row.time.get, gap)

    private def touched(row: Row): Seq[(String, TimeWindow)] = open.keys.filter {
      case (key, session) =>
        key == row.key.string && Sessions.intersects(session, own(row), inclusive)
    }.toVector

    private def join(row: Row): Unit = {
      val sessions = touched(row)
      val rows = sessions.flatMap(open.remove(_).get).toVector :+ row
      open((row.key.string, sessions.map(_._2).foldLeft(own(row))(_ cover _))) = rows
    }

    override def fire(watermark: Long): Seq[Fired] =
      open.keys.filter(_._2.end <= watermark).toVector.map { case (key, session) =>
        val rows = open.remove((key, session)).get.sortBy(_.arrival)
        Fired(LogTest.json(key), session, rows.map(_.value))
      }

    override def nextDue: Long = open.keys.map(_._2.end).minOption.getOrElse(Long.MaxValue)
  }

  property("sessions close with the rows that the definition gives them, however time moves") {
    val settings = for {
      gap <- Gen.oneOf(Gen.choose(1L, 12L), Gen.choose(1L, 500L))
      inclusive <- Gen.oneOf(true, false)
      from <- Gen.oneOf(Gen.const(0L), Gen.choose(-1000000L, 1000000L))
    } yield (gap, inclusive, from)
    forAllNoShrink(settings) { case (gap, inclusive, from) =>
      forAll(steps(from, 60L)) { steps =>
        val operator = new SessionOperator(gap, inclusive)
        compare(steps, from, operator, new SessionContents(gap, inclusive))
      }
    }
  }

  private def row(time: Long): Row =
    Row(LogTest.json("a"), Json.parse(time.toString), Some(time), time)

  test("a late row joins a session that is still open and moves its start back") {
    val operator = new SessionOperator(10)
    operator.process(Seq(row(20)), Long.MinValue)
    assertEquals(operator.process(Seq(row(12), row(3)), watermark = 25), Seq.empty)
    assertEquals(operator.fire(30).map(_.window), Seq(TimeWindow(3, 30)))
  }

  test("two late rows do not make a session") {
    val operator = new SessionOperator(10)
    assertEquals(operator.process(Seq(row(2), row(5)), watermark = 25).size, 2)
    assertEquals(operator.fire(Long.MaxValue), Seq.empty)
  }

  test("a row that touches a session that has closed opens another") {
    val operator = new SessionOperator(10)
    operator.process(Seq(row(0)), Long.MinValue)
    assertEquals(operator.fire(10).map(_.window), Seq(TimeWindow(0, 10)))
    operator.process(Seq(row(5)), watermark = 10)
    assertEquals(operator.fire(15).map(_.window), Seq(TimeWindow(5, 15)))
  }
}
