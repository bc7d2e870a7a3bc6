package transom.engine.sweep

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.runtime.LateReason
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.window._

/** Windows over lifetimes, against a model that computes each window from all rows. */
class SweepSuite extends ScalaCheckSuite {
  import SweepSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  property("results and late rows are those of the model, whatever the batches and the memory") {
    forAllNoShrink(streams, cuts) { case ((window, rows), cuts) =>
      val model = new SweepModel(window, rows)
      Seq(Limits.Default, Limits.Default.copy(keys = 0L)).foreach { limits =>
        val played = play(window, rows, cuts, limits)
        val clue = s"$window, $rows, $cuts, $limits"
        assertEquals(played.late, model.late, clue)
        assertEquals(played.partlyLate, model.partlyLate, clue)
        val (got, expected) = (shown(played.results), shown(model.results))
        assertEquals(got.diff(expected) -> expected.diff(got), (Nil, Nil), clue)
        assertEquals(got, expected, clue)
        assert(played.isEmpty, clue)
      }
    }
  }

  property("with changes only, a window of a grid differs from the window before") {
    forAllNoShrink(gridStreams, cuts) { case ((window, rows), cuts) =>
      val slide = window match {
        case hopping: Hopping => hopping.slideUs
        case tumbling: Tumbling => tumbling.sizeUs
        case other => fail(s"$other")
      }
      val expected = new SweepModel(window, rows).results.view.mapValues { contents =>
        val rowsAt = contents.map(content => content.window.start -> content.rows).toMap
        contents.filterNot(content =>
          rowsAt.get(content.window.start - slide).contains(content.rows))
      }.toMap
      Seq(Limits.Default, Limits.Default.copy(keys = 0L)).foreach { limits =>
        val played = play(window, rows, cuts, limits, changesOnly = true)
        assertEquals(shown(played.results), shown(expected), s"$window, $rows, $cuts, $limits")
      }
    }
  }

  property("rows are aggregated in the same order, whatever the batches") {
    forAllNoShrink(streams, cuts, cuts) { case ((window, rows), some, others) =>
      assertEquals(
        play(window, rows, some, Limits.Default).aggregated,
        play(window, rows, others, Limits.Default).aggregated,
        s"$window, $rows, $some, $others")
    }
  }

  property("a window fires in the batch whose watermark reaches its end") {
    forAllNoShrink(streams) { case (window, rows) =>
      val runner = new SweepRunner(specOf(window, rows))
      rows.indices.foreach { i =>
        val reached = if (i + 1 < rows.length) rows(i + 1).met else rows.last.met
        val outputs = runner.batch(Seq(rowOf(rows(i))), rows(i).met, reached)
        outputs.foreach {
          case fired: Fired =>
            val due = window match {
              case _: Rolling => fired.window.end + 1
              case _ => fired.window.end
            }
            assert(due <= reached, s"$window, $rows: $fired at $reached")
            assert(i == 0 || due > rows(i).met || fired.window.end == rows(i).met, s"$fired")
          case _ =>
        }
        assert(runner.nextTimer > reached || runner.nextTimer == reached, s"$window, $rows")
      }
    }
  }

  property("p5: a snapshot of lifetimes of one length starts where their rolling window ends") {
    forAllNoShrink(rollingStreams, cuts) { case ((rolling, rows), cuts) =>
      val windows = play(rolling, rows, cuts, Limits.Default)
      val snapshots = play(Snapshot(), rows, cuts, Limits.Default)
      val clue = s"$rolling, $rows, $cuts"
      assertEquals(
        windows.contents.map(content => (content.key, content.window.end, content.rows)).toSet,
        snapshots.contents
          .map(content => (content.key, content.window.start, content.rows))
          .toSet,
        clue)
      assertEquals(windows.contents.size, snapshots.contents.size, clue)
      assertEquals(windows.late, snapshots.late, clue)
      assertEquals(windows.partlyLate, snapshots.partlyLate, clue)
    }
  }

  property("p6: a row is in each window that its lifetime overlaps, a point in size / slide") {
    forAllNoShrink(hoppings, onTime, cuts) { (window, rows, cuts) =>
      val Hopping(size, slide, offset, _, _) = window
      val played = play(window, rows, cuts, Limits.Default)
      rows.foreach { row =>
        // k * slide + offset is before the end of the row, and size later is after its start.
        val first = Math.floorDiv(row.start - offset - size, slide) + 1
        val last = Math.floorDiv(row.end - offset - 1, slide)
        val own =
          (first to last).map(k => TimeWindow(k * slide + offset, k * slide + offset + size))
        val held = played.contents.filter(_.rows(row.number)).map(_.window)
        assertEquals(held.sortBy(_.start), own, s"$window, $rows, $cuts: $row")
        if (row.end == row.start + 1 && size % slide == 0)
          assertEquals(held.size.toLong, size / slide, s"$window, $row")
      }
      assertEquals(played.late ++ played.partlyLate, Set.empty[Long])
    }
  }

  test("generated streams have results with many rows, late rows and rows that are partly late") {
    val counts = Generators.samples(300, streams).map { case (window, rows) =>
      val model = new SweepModel(window, rows)
      (
        model.results.values.flatten.count(_.rows.size > 3),
        model.late.size,
        model.partlyLate.size)
    }
    assert(counts.map(_._1).sum > 1000, counts.map(_._1).sum)
    assert(counts.map(_._2).sum > 300, counts.map(_._2).sum)
    assert(counts.map(_._3).sum > 300, counts.map(_._3).sum)
  }
}

object SweepSuite {

  /** What a run has given. `aggregated` lists the rows of each result as they were aggregated. */
  final case class Played(
      results: Map[Int, Seq[Content]],
      aggregated: Seq[(Int, TimeWindow, Seq[Long])],
      late: Set[Long],
      partlyLate: Set[Long],
      isEmpty: Boolean) {

    def contents: Seq[Content] = results.values.flatten.toSeq
  }

  private val windows: Gen[Window] = Gen.oneOf(
    Gen.const(Snapshot()),
    Gen.choose(1L, 30L).map(Rolling(_)),
    Gen.choose(1, 4).map(CountByStart(_)),
    Gen.choose(1L, 20L).map(Tumbling(_)),
    Gen.zip(Gen.choose(1L, 20L), Gen.choose(1L, 20L)).map { case (size, slide) =>
      Hopping(size, slide)
    },
    Gen.const(Cumulate(12, 4)))

  private val lengths: Gen[Long] =
    Gen.frequency(2 -> Gen.const(1L), 6 -> Gen.choose(1L, 40L), 1 -> Gen.const(RowContext.NoEnd))

  private def shown(results: Map[Int, Seq[Content]]): Seq[String] =
    results.toSeq.sortBy(_._1).flatMap(_._2).map { content =>
      s"${content.key} ${content.window} ${content.rows.toSeq.sorted.mkString(" ")}"
    }

  /** A window and a stream of rows in order of arrival. Rolling windows take points only. */
  val streams: Gen[(Window, Seq[Lifetimed])] =
    windows.flatMap(window => rowsOf(window).map(window -> _))

  val gridStreams: Gen[(Window, Seq[Lifetimed])] = for {
    size <- Gen.choose(1L, 20L)
    slide <- Gen.choose(1L, 20L)
    window <- Gen.oneOf[Window](Tumbling(size), Hopping(size, slide))
    rows <- rowsOf(window)
  } yield (window, rows)

  val rollingStreams: Gen[(Rolling, Seq[Lifetimed])] = for {
    rolling <- Gen.choose(1L, 30L).map(Rolling(_))
    rows <- rowsOf(rolling)
  } yield (rolling, rows)

  private def rowsOf(window: Window): Gen[Seq[Lifetimed]] = for {
    size <- Gen.choose(1, 40)
    steps <- Gen.listOfN(
      size,
      Gen.zip(Gen.choose(0, 1), Gen.choose(-15, 20), lengths, Gen.choose(0, 6)))
  } yield {
    var watermark = 0L
    steps.zipWithIndex.map { case ((key, ahead, length, moves), i) =>
      watermark += moves
      val start = watermark + ahead
      val end = window match {
        case Rolling(size) => start + size
        case _ if length == RowContext.NoEnd => length
        case _ => start + length
      }
      Lifetimed(i.toLong, key, start, end, watermark)
    }
  }

  /** Grids whose windows are multiples of their slide, others, and grids with gaps. */
  val hoppings: Gen[Hopping] = for {
    slide <- Gen.choose(1L, 12L)
    size <- Gen.oneOf(Gen.choose(1L, 4L).map(_ * slide), Gen.choose(1L, 30L))
    offset <- Gen.choose(-slide + 1, slide - 1)
  } yield Hopping(size, slide, offset)

  /** Rows with ends that meet no watermark. Many of them are points. */
  val onTime: Gen[Seq[Lifetimed]] =
    Gen
      .nonEmptyListOf(
        Gen.zip(Gen.choose(-60L, 60L), Gen.oneOf(Gen.const(1L), Gen.choose(1L, 40L))))
      .map {
        _.zipWithIndex.map { case ((start, length), i) =>
          Lifetimed(i.toLong, i % 2, start, start + length, -1000L)
        }
      }

  val cuts: Gen[Seq[Int]] = Gen.listOf(Gen.choose(1, 40))

  def specOf(window: Window, rows: Seq[Lifetimed]): WindowSpec = {
    val isRolling = window.isInstanceOf[Rolling]
    Specs
      .of(window, lateRows = LateRows.Partly)
      .copy(lifetime = Option.when(!isRolling && rows.nonEmpty)(Lifetime(endColumn = Some(0))))
  }

  def rowOf(row: Lifetimed): Row = Row(
    Json.parse(row.key.toString),
    Json.parse(row.number.toString),
    Some(row.start),
    row.number,
    met = Some(row.met),
    end = row.end)

  def play(
      window: Window,
      rows: Seq[Lifetimed],
      cuts: Seq[Int],
      limits: Limits,
      changesOnly: Boolean = false): Played = {
    val runner =
      new SweepRunner(specOf(window, rows).copy(changesOnly = changesOnly), limits)
    val bounds = (0 +: cuts.filter(_ < rows.length) :+ rows.length).distinct.sorted
    val outputs = bounds.zip(bounds.tail).flatMap { case (from, until) =>
      val reached = if (until < rows.length) rows(until).met else rows.last.met
      runner.batch(rows.slice(from, until).map(rowOf), rows(from).met, reached)
    } ++ runner.batch(Nil, rows.last.met, Long.MaxValue)
    val aggregated = outputs.collect { case Fired(key, window, values, _, _, _, _) =>
      (key.long.toInt, window, values.map(_.long))
    }
    val contents = aggregated.map { case (key, window, values) =>
      assert(values.distinct.size == values.size, s"a row counts twice: $values")
      Content(key, window, values.toSet)
    }
    def reported(reason: LateReason) =
      outputs.collect { case side: SideRow if side.reason == reason => side.row }.toSet
    Played(
      contents.groupBy(_.key),
      aggregated.sortBy(fired => (fired._1, fired._2.end, fired._2.start)),
      reported(LateReason.Late),
      reported(LateReason.LatePartly),
      runner.isEmpty)
  }
}
