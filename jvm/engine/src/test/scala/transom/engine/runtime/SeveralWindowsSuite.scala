package transom.engine.runtime

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.window._

/** Several windows in one pass have the results of each window alone. */
class SeveralWindowsSuite extends ScalaCheckSuite {
  import LayoutsSuite.streams
  import SeveralWindowsSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1500))

  property("grids in the slice log have the results and late rows of each grid alone") {
    forAllNoShrink(grids, streams) { (members, stream) =>
      val several = played(new GridOperator(_, GridOperator.SmallBundles), members, stream)
      assertEquals(several, expected(members, stream), s"$members, $stream")
    }
  }

  property("windows of all kinds in the keyed layout have the results of each window alone") {
    forAllNoShrink(windows, streams) { (members, stream) =>
      Seq(Limits.Default, Limits.Default.copy(keys = 0L)).foreach { limits =>
        val several = played(spec => new SeveralRunner(spec, limits), members, stream)
        assertEquals(several, expected(members, stream), s"$members, $stream")
      }
    }
  }

  test("the generated streams have rows that are late for some windows only") {
    val seen = Generators.samples(300, Gen.zip(windows, streams)).map { case (members, stream) =>
      expected(members, stream).rows.map(_._2)
    }
    assert(seen.count(_.contains("late_partly")) > 50)
    assert(seen.count(_.contains("late")) > 50)
  }

  test("the finest windows feed windows whose bounds they share") {
    def sources(window: GridWindow): Seq[Long] = Seq(60L, 5L, 1L, 7L).filter { size =>
      window.grid.isFedBy(Tumbling(size).grid)
    }
    assertEquals(sources(Tumbling(60)), Seq[Long](60, 5, 1))
    assertEquals(sources(Hopping(20, 10)), Seq[Long](5, 1))
    assertEquals(sources(Cumulate(60, 10)), Seq[Long](5, 1))
    assertEquals(sources(Tumbling(7)), Seq[Long](1, 7))
    assert(!Tumbling(60).grid.isFedBy(Tumbling(5, 1).grid))
    assert(!Hopping(5, 10).grid.isFedBy(Tumbling(5).grid))
  }

  test("a slice has no boundary of a window inside") {
    val slices = severalOf(Seq(Hopping(10, 30), Tumbling(60))).sliceAssigner
    val starts = (0L until 60L by 10).map(slices.sliceOf)
    assertEquals(starts, Seq[Long](0, 10, 20, 30, 40, 50))
    val onlyGaps = severalOf(Seq(Hopping(10, 30), Hopping(5, 20))).sliceAssigner
    val inWindows = (0L until 40L by 5).filter(onlyGaps.sliceOf(_) != Grid.NoSlice)
    assertEquals(inWindows, Seq[Long](0, 5, 20, 30, 35))
  }
}

private object SeveralWindowsSuite {
  import LayoutsSuite.Batch

  /** Results as batch, member, key, window and values; each row of a side output with its reason
    * and the windows that it missed; the number of rows in gaps.
    */
  final case class Played(
      results: Seq[(Int, Int, Any, TimeWindow, Seq[String])],
      rows: Seq[(Long, String, Seq[TimeWindow])],
      inGaps: Long)

  val grids: Gen[Seq[Window]] = for {
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    count <- Gen.choose(1, 4)
    unit <- Gen.choose(1L, 4L)
    members <- Gen.oneOf(
      Gen.listOfN(count, grid(closed)),
      Gen.listOfN(count, grid(closed).map(inUnits(_, unit))))
  } yield members.distinct

  /** Grids of one unit may feed each other. */
  private def inUnits(window: Window, unit: Long): Window = window match {
    case Tumbling(size, offset, closed, zone, stagger) =>
      Tumbling(size * unit, offset * unit, closed, zone, stagger)
    case Hopping(size, slide, offset, closed, zone) =>
      Hopping(size * unit, slide * unit, offset * unit, closed, zone)
    case Cumulate(size, step, offset, closed, zone) =>
      Cumulate(size * unit, step * unit, offset * unit, closed, zone)
    case other => other
  }

  val windows: Gen[Seq[Window]] = for {
    count <- Gen.choose(1, 3)
    size <- Gen.choose(1L, 24L)
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    members <- Gen.listOfN(
      count,
      Gen.frequency[Window](
        2 -> grid(closed),
        2 -> Gen.oneOf(true, false).map(Session(size, _, closed)),
        1 -> Gen.const(Rolling(size)),
        1 -> Gen.const(Snapshot(closed)),
        1 -> Gen.choose(1, 3).map(CountByStart(_))))
  } yield members.distinct

  private def grid(closed: Closed): Gen[Window] = for {
    size <- Gen.choose(1L, 24L)
    step <- Gen.choose(1L, 24L)
    offset <- Gen.choose(-5L, 5L)
    window <- Gen.oneOf[Window](
      Tumbling(size, offset % size, closed),
      Hopping(size, step, offset % step, closed),
      Cumulate(size * 3, size, offset % size, closed))
  } yield window

  def severalOf(members: Seq[Window]): Windows = Windows(members.map(NamedWindow(None, _)))

  private def specOf(window: Window): WindowSpec = Specs.of(window, lateRows = LateRows.Partly)

  def played(run: WindowSpec => Operator, members: Seq[Window], stream: Seq[Batch]): Played = {
    val operator = run(specOf(severalOf(members)))
    val (results, sides) = outputs(operator, stream)
    Played(
      results.map { case (i, fired) => shown(i, fired.member, fired) }.sortBy(_.toString),
      sides.map(side => (side.row, side.reason.name, sorted(side.missed))).sortBy(_._1),
      operator.counts(RowCounts.InGaps))
  }

  /** What each member has alone. A row is late if no member takes it. */
  def expected(members: Seq[Window], stream: Seq[Batch]): Played = {
    val alone = members.map { window =>
      val operator = window match {
        case _: SweptWindow => new SweepRunner(specOf(window))
        case _ => new KeyedRunner(specOf(window))
      }
      outputs(operator, stream) -> window
    }
    val numbers = 1L to stream.map(_.rows.length).sum.toLong
    val times = stream.flatMap(_.rows.map(_._2))
    val rows = numbers.flatMap { number =>
      val outcomes = alone.map { case ((_, sides), window) =>
        sides.find(_.row == number) match {
          case Some(side) => side.reason.name -> side.missed
          case None if isInGap(window, times(number.toInt - 1)) => "gap" -> Nil
          case None => "taken" -> Nil
        }
      }
      val missed = outcomes.flatMap(_._2)
      val isTaken = outcomes.exists { case (reason, _) =>
        reason == "taken" || reason == LateReason.LatePartly.name
      }
      val reason =
        if (outcomes.forall { case (reason, _) => reason == "taken" || reason == "gap" }) {
          if (isTaken) None else Some("gap")
        } else Some((if (isTaken) LateReason.LatePartly else LateReason.Late).name)
      reason.map((number, _, sorted(missed)))
    }
    Played(
      alone.zipWithIndex
        .flatMap { case (((results, _), _), member) =>
          results.map { case (i, fired) => shown(i, member, fired) }
        }
        .sortBy(_.toString),
      rows.filter(_._2 != "gap"),
      rows.count(_._2 == "gap").toLong)
  }

  private def sorted(windows: Seq[TimeWindow]) = windows.sortBy(w => (w.start, w.end))

  private def isInGap(window: Window, time: Long): Boolean = window match {
    case hopping: Hopping =>
      val shift = if (hopping.closed == Closed.Right) 1L else 0L
      Math.floorMod(time - shift - hopping.offsetUs, hopping.slideUs) >= hopping.sizeUs
    case _ => false
  }

  private def shown(batch: Int, member: Int, fired: Fired) =
    (batch, member, fired.key.value, fired.window, fired.values.map(_.value.toString).sorted)

  private def outputs(
      operator: Operator,
      stream: Seq[Batch]): (Seq[(Int, Fired)], Seq[SideRow]) = {
    var number = 0L
    var met = Long.MinValue
    val outputs = (stream :+ Batch(Nil, Long.MaxValue)).zipWithIndex.flatMap { case (batch, i) =>
      val rows = batch.rows.map { case (key, time) =>
        number += 1
        Row(Json.parse(ujson.write(key)), Json.parse(s"$number"), Some(time), number)
      }
      val outputs = operator.batch(rows, met, batch.watermark)
      met = batch.watermark
      outputs.map((i, _))
    }
    assert(operator.isEmpty, "state is left after the end of time")
    (
      outputs.collect { case (i, fired: Fired) => (i, fired) },
      outputs.collect { case (_, side: SideRow) => side })
  }
}
