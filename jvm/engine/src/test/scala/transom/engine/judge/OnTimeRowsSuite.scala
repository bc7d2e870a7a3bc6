package transom.engine.judge

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

import transom.engine.conformance.driver.Specs
import transom.engine.firing.{AfterCount, AfterWatermark}
import transom.engine.spec.EventTime
import transom.engine.time.Watermark
import transom.engine.window._

/** Which rows are on time whatever watermark earlier batches have left. */
class OnTimeRowsSuite extends ScalaCheckSuite {
  import OnTimeRowsSuite._

  property("a row is on time if it is in a window, and none of its windows has ended") {
    forAll(hops, instants, instants, Gen.option(instants)) { (hop, time, reached, own) =>
      val (size, every) = hop
      val spec = Specs.of(Hopping(size, every), EventTime(0))
      val watermark = own.getOrElse(Watermark.NotYet)
      val ends =
        (-20L to 60L).map(_ * every + size).filter(end => end - size <= time && time < end)
      val expected = ends.nonEmpty && ends.forall(end => end > reached && end > watermark)
      val rows = OnTimeRows.of(spec, Some(reached)).get
      assertEquals(rows.contains(time, watermark), expected, s"$spec $time $reached $own")
    }
  }

  test("no source may be ahead of the watermark from which on rows are on time") {
    val rows = OnTimeRows.of(Specs.of(Tumbling(10), EventTime(0)), Some(70)).get
    rows.check(Watermark.NotYet)
    rows.check(70)
    val error = intercept[IllegalStateException](rows.check(71))
    assert(error.getMessage.contains("watermark 71 before this batch, and Spark has 70"), error)
  }

  test("no row is on time for sure if Spark has no watermark, or rows may not wait") {
    val spec = Specs.of(Tumbling(10), EventTime(0))
    assert(OnTimeRows.of(spec, Some(0)).isDefined)
    assertEquals(OnTimeRows.of(spec, None), None)
    val early = spec.copy(trigger = AfterWatermark(early = Some(AfterCount(1))))
    assertEquals(OnTimeRows.of(early, Some(0)), None)
    // Only the key group knows whether a row is in an open session.
    assertEquals(OnTimeRows.of(spec.copy(window = Session(10)), Some(0)), None)
  }
}

private object OnTimeRowsSuite {
  // Of windows that meet, overlap, and have gaps between them.
  val hops: Gen[(Long, Long)] = Gen.oneOf((10L, 10L), (10L, 5L), (10L, 3L), (5L, 10L))
  val instants: Gen[Long] = Gen.choose(0L, 100L)
}
