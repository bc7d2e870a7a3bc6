package transom.engine.session

import org.scalacheck.Gen
import org.scalacheck.Prop.{forAll, forAllNoShrink}
import org.scalacheck.Test.Parameters

import transom.engine.{Generators, LogTest}
import transom.engine.conformance.driver.{Row, SessionOperator}
import transom.engine.conformance.vector.Json
import transom.engine.state.Limits
import transom.engine.window.TimeWindow

class SessionLogSuite extends LogTest {

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(3000))

  property("sessions close with the rows that the model expects, at any watermarks") {
    val settings = for {
      gap <- Gen.oneOf(Gen.choose(1L, 12L), Gen.choose(1L, 500L))
      inclusive <- Gen.oneOf(true, false)
      from <- Gen.oneOf(Gen.const(0L), Gen.choose(-1000000L, 1000000L))
      inMemory <- Gen.oneOf(Gen.const(Limits.Default.sessions), Gen.choose(1L, 500L))
    } yield (gap, inclusive, from, inMemory)
    forAllNoShrink(settings) { case (gap, inclusive, from, inMemory) =>
      forAll(steps(from, 60L)) { steps =>
        val operator =
          new SessionOperator(gap, inclusive, Limits.Default.copy(sessions = inMemory))
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

  test("late rows alone do not open a session") {
    val operator = new SessionOperator(10)
    assertEquals(operator.process(Seq(row(2), row(5)), watermark = 25).size, 2)
    assertEquals(operator.fire(Long.MaxValue), Seq.empty)
  }

  test("a row that touches a closed session opens a new session") {
    val operator = new SessionOperator(10)
    operator.process(Seq(row(0)), Long.MinValue)
    assertEquals(operator.fire(10).map(_.window), Seq(TimeWindow(0, 10)))
    operator.process(Seq(row(5)), watermark = 10)
    assertEquals(operator.fire(15).map(_.window), Seq(TimeWindow(5, 15)))
  }
}
