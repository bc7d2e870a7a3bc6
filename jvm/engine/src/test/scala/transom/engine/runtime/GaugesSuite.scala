package transom.engine.runtime

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.spec._
import transom.engine.window.{GridWindow, Session, TimeWindow}
import transom.engine.runtime.LayoutsSuite._

/** The earliest and the latest start of open windows. */
class GaugesSuite extends ScalaCheckSuite {
  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1500))

  private val severalSpecs =
    SeveralWindowsSuite.grids.map(members => Specs.of(SeveralWindowsSuite.severalOf(members)))

  Seq("a grid" -> gridSpecs, "several grids" -> severalSpecs).foreach { case (name, specs) =>
    openStarts(name, specs)
  }

  private def openStarts(name: String, specs: Gen[WindowSpec]): Unit = property(
    s"open windows of $name start at the earliest and the latest window that a row has opened") {
    forAllNoShrink(specs, streams) { (spec, stream) =>
      val operator = new GridOperator(spec, GridOperator.SmallBundles)
      var met = Long.MinValue
      stream.zipWithIndex.foreach { case (batch, i) =>
        operator.batch(rowsOf(batch), met, batch.watermark): Unit
        met = batch.watermark
        val open = openWindows(spec, stream.take(i + 1), met)
        val expected = Option.when(open.nonEmpty)(OpenStarts(open.min, open.max))
        val gauges = Gauges(watermark = Some(met), open = expected)
        assertEquals(operator.gauges, Some(gauges), s"$spec, $stream")
      }
    }
  }

  property("the windows of touched keys show the first and the last open window of all keys") {
    forAllNoShrink(gridSpecs, streams, Gen.choose(0L, 30L)) { (spec, stream, lateness) =>
      val late = spec.copy(allowedLatenessUs = lateness)
      val operator = new KeyedRunner(late)
      val windows = new OpenByKeys
      var met = Long.MinValue
      stream.zipWithIndex.foreach { case (batch, i) =>
        operator.batch(rowsOf(batch), met, batch.watermark): Unit
        met = batch.watermark
        val open = openWindows(late, stream.take(i + 1), met)
        val expected = Option.when(open.nonEmpty)(OpenStarts(open.min, open.max))
        val shown = windows.after(operator.gauges.flatMap(_.touched).toSeq)
        assertEquals(shown, expected, s"$late, $stream")
      }
    }
  }

  test("layouts that must read state to find open windows say nothing about them") {
    val spec = Specs.of(Session(10))
    Seq(new SessionOperator(spec, GridOperator.SmallBundles), new KeyedRunner(spec)).foreach {
      operator =>
        operator.batch(rowsOf(Batch(Seq("a" -> 1L), 2)), Long.MinValue, 2): Unit
        assertEquals(operator.gauges, Some(Gauges(watermark = Some(2L))))
    }
  }

  private lazy val gridSpecs = specs.suchThat(_.window.isInstanceOf[GridWindow])

  private def rowsOf(batch: Batch): Seq[Row] = batch.rows.map { case (key, time) =>
    Row(Json.parse(ujson.write(key)), Json.parse("0"), Some(time), 0L)
  }

  /** The starts of the windows of all rows whose end and lateness are after the watermark. */
  private def openWindows(spec: WindowSpec, batches: Seq[Batch], watermark: Long): Seq[Long] = {
    val grids = spec.window.grids.map(_.grid)
    val convention = spec.window.convention
    for {
      batch <- batches
      (_, time) <- batch.rows
      grid <- grids
      window: TimeWindow <- grid.windowsOf(convention.timeIn(time))
      if grid.endOf(window) + spec.allowedLatenessUs > convention.watermarkIn(watermark)
    } yield window.start
  }
}
