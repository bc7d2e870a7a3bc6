package transom.engine

import munit.ScalaCheckSuite
import org.scalacheck.Gen

import transom.engine.conformance.driver.{Fired, Operator, Row}
import transom.engine.conformance.vector.Json
import transom.engine.time.Ticks
import transom.engine.window.TimeWindow

/** A model of a window operator. It keeps the rows of each window. */
trait Model {
  def process(rows: Seq[Row], watermark: Long): Seq[Row]
  def fire(watermark: Long): Seq[Fired]
  def nextTimer: Long
}

/** Compares a window operator with a model, over generated steps. */
trait LogTest extends ScalaCheckSuite {

  import LogTest._

  /** Steps with rows near a time, and watermarks that move past these rows. */
  def steps(from: Long, reach: Long, keys: Seq[String] = Seq("a", "b", "c")): Gen[List[Step]] = {
    val time = Gen.frequency(
      4 -> Gen.choose(from - reach, from + reach),
      1 -> Gen.choose(from - 2, from + 2))
    val row = Gen.zip(Gen.oneOf(keys), time)
    val batch = Gen.choose(1, 6).flatMap(Gen.listOfN(_, row)).map(Batch)
    val watermark = Gen.oneOf(Gen.choose(0L, 3L), Gen.choose(0L, reach / 2)).map(Watermark)
    Gen.choose(1, 40).flatMap(Gen.listOfN(_, Gen.frequency(3 -> batch, 1 -> watermark)))
  }

  /** Runs the steps in the operator and in the model, then moves the watermark to the end of
    * time.
    */
  def compare(steps: Seq[Step], from: Long, operator: Operator, model: Model): Unit = {
    var watermark = Long.MinValue
    var arrivals = 0L
    def fire(): Unit = {
      val (got, expected) = (operator.fire(watermark), model.fire(watermark))
      assertEquals(counted(got.map(shown)), counted(expected.map(shown)))
    }
    steps.foreach {
      case Batch(held) =>
        val rows = held.map { case (key, time) =>
          arrivals += 1
          Row(LogTest.json(key), LogTest.json(s"$key$arrivals"), Some(time), arrivals)
        }
        val (got, expected) =
          (operator.process(rows, watermark), model.process(rows, watermark))
        assertEquals(got.map(_.arrival).toSet, expected.map(_.arrival).toSet)
      case Watermark(advance) =>
        val start = if (watermark == Long.MinValue) from - advance else watermark
        watermark = Ticks.add(start, advance)
        fire()
        assert(operator.nextTimer <= model.nextTimer)
        assert(operator.nextTimer > watermark)
    }
    watermark = Long.MaxValue
    fire()
    assert(operator.isEmpty, "state is left after the end of time")
  }

  private def shown(fired: Fired): (Any, TimeWindow, Seq[Any]) =
    (fired.key.value, fired.window, fired.values.map(_.value))

  private def counted[T](some: Seq[T]): Map[T, Int] = some.groupMapReduce(identity)(_ => 1)(_ + _)
}

object LogTest {

  sealed trait Step
  final case class Batch(rows: Seq[(String, Long)]) extends Step
  final case class Watermark(advance: Long) extends Step

  def json(text: String): Json = Json.parse(ujson.write(text))
}
