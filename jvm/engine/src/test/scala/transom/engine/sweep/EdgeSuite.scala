package transom.engine.sweep

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.runtime.{DeadLetterReason, LateReason, RowCounts, SideReason}
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.window.{Cumulate, Hopping, RowContext, Snapshot, TimeWindow, Tumbling, Window}

/** Windows over starts and ends that come in rows of their own, against a model. */
class EdgeSuite extends ScalaCheckSuite {
  import EdgeSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(500))

  property("results, dead letters and counts are those of the model, whatever the batches") {
    forAllNoShrink(streams(40), cuts(40)) { case (stream, cuts) => check(stream, cuts) }
  }

  test("hundreds of open rows enter and leave in any order") {
    Generators.samples(6, Gen.zip(streams(450), cuts(450))).foreach { case (stream, cuts) =>
      check(stream, cuts)
    }
  }

  private def check(stream: Stream, cuts: Seq[Int]): Unit = {
    import stream._
    val model = new EdgeModel(window, timeout, edges)
    Seq(Limits.Default, Limits.Default.copy(keys = 0L)).foreach { limits =>
      val clue = s"$stream, $cuts, $limits"
      val runner = new SweepRunner(specOf(stream), limits)
      val bounds = (0 +: cuts.filter(_ < edges.length) :+ edges.length).distinct.sorted
      val outputs = bounds.zip(bounds.tail).flatMap { case (from, until) =>
        val reached = if (until < edges.length) edges(until).met else edges.last.met
        val outputs = runner.batch(edges.slice(from, until).map(rowOf), edges(from).met, reached)
        val open = runner.gauges.get.rowsOpen.get
        // On a grid, rows leave when the next window fires.
        if (timeout.isEmpty || window == Snapshot())
          assertEquals(open, model.open(until, reached).toLong, clue)
        else assert(open >= model.open(until, reached), clue)
        outputs
      } ++ runner.batch(Nil, edges.last.met, Long.MaxValue)
      val results = outputs.collect { case Fired(key, window, values, _, _, _, _) =>
        assertEquals(values.distinct.size, values.size, clue)
        Content(key.long.toInt, window, values.map(_.long).toSet)
      }
      def reported(reason: SideReason) =
        outputs.collect { case side: SideRow if side.reason == reason => side.row }
      val bad = DeadLetterReason.BadLifetime
      assertEquals(reported(bad).toSet, model.deadLetters, clue)
      assertEquals(reported(LateReason.Late).toSet, model.late, clue)
      assertEquals(reported(LateReason.LatePartly).toSet, model.partlyLate, clue)
      assertEquals(shown(results.groupBy(_.key)), shown(model.results), clue)
      assertEquals(runner.counts(RowCounts.EndEdges), model.ends.size.toLong, clue)
      assertEquals(runner.counts(RowCounts.WithBadWindows), model.deadLetters.size.toLong, clue)
      assert(runner.isEmpty, clue)
      assertEquals(runner.gauges.map(_.rowsOpen), Some(Some(0L)), clue)
    }
  }

  property("rows are aggregated in the same order, whatever the batches") {
    forAllNoShrink(streams(60), cuts(60), cuts(60)) { case (stream, some, others) =>
      assertEquals(aggregated(stream, some), aggregated(stream, others), s"$stream $some $others")
    }
  }

  test("generated streams have ends of all kinds") {
    val models = Generators.samples(300, streams(40)).map { stream =>
      new EdgeModel(stream.window, stream.timeout, stream.edges)
    }
    assert(models.map(_.results.values.flatten.count(_.rows.size > 3)).sum > 1000)
    assert(models.map(_.ends.size).sum > 1000)
    assert(models.map(_.deadLetters.size).sum > 1000)
    assert(models.map(model => (model.ends & model.partlyLate).size).sum > 100)
    assert(models.map(model => (model.partlyLate -- model.ends).size).sum > 100)
    assert(models.map(_.late.size).sum > 30)
  }
}

private object EdgeSuite {

  final case class Stream(window: Window, timeout: Option[Long], edges: Seq[Edge])

  private val windows: Gen[Window] = Gen.oneOf(
    Gen.const(Snapshot()),
    Gen.choose(1L, 20L).map(Tumbling(_)),
    Gen.zip(Gen.choose(1L, 20L), Gen.choose(1L, 20L)).map { case (size, slide) =>
      Hopping(size, slide)
    },
    Gen.const(Cumulate(12, 4)))

  private final case class Step(
      key: Int,
      id: Int,
      isStart: Boolean,
      ahead: Int,
      which: Int,
      length: Long,
      moves: Int)

  private val step: Gen[Step] = for {
    key <- Gen.choose(0, 1)
    id <- Gen.choose(0, 2)
    isStart <- Gen.oneOf(true, false)
    ahead <- Gen.frequency(6 -> Gen.choose(-8, 12), 1 -> Gen.choose(-40, -8))
    which <- Gen.choose(0, 1000)
    length <- Gen.choose(1L, 40L)
    moves <- Gen.frequency(2 -> Gen.const(0), 1 -> Gen.choose(0, 6))
  } yield Step(key, id, isStart, ahead, which, length, moves)

  /** Starts, and ends of starts that came before. Some ends come twice, and some without start.
    */
  def streams(most: Int): Gen[Stream] = for {
    window <- windows
    timeout <- Gen.oneOf(Gen.const(None), Gen.choose(1L, 30L).map(Some(_)))
    size <- Gen.choose(most / 2, most)
    share <- Gen.oneOf(1, 2, 4)
    steps <- Gen.listOfN(size, step)
  } yield {
    var watermark = 0L
    val edges = steps.zipWithIndex.foldLeft(Vector.empty[Edge]) { case (edges, (step, i)) =>
      watermark += step.moves
      val starts = edges.filter(_.isStart)
      val edge =
        if (starts.isEmpty || step.isStart || step.which % share != 0)
          Edge(i.toLong, step.key, step.id, watermark + step.ahead, RowContext.NoEnd, watermark)
        else {
          val start = starts(step.which % starts.length)
          val near = math.max(start.start + 1, watermark + step.ahead)
          val end = if (step.which % 3 == 0) start.start + step.length else near
          // A few ends are about no row.
          val id = if (step.which % 11 == 0) 7 else start.id
          Edge(i.toLong, start.key, id, start.start, end, watermark)
        }
      edges :+ edge
    }
    Stream(window, timeout, edges)
  }

  def cuts(most: Int): Gen[Seq[Int]] = Gen.listOf(Gen.choose(1, most))

  def specOf(stream: Stream): WindowSpec =
    Specs
      .of(stream.window, lateRows = LateRows.Partly)
      .copy(
        lifetime =
          Some(Lifetime(endColumn = Some(0), idColumns = Seq(1), timeoutUs = stream.timeout)),
        deadLetters = true)

  def rowOf(edge: Edge): Row = Row(
    Json.parse(edge.key.toString),
    Json.parse(edge.number.toString),
    Some(if (edge.isStart) edge.start else edge.end),
    edge.number,
    met = Some(edge.met),
    end = edge.end,
    id = s"${edge.id} ${edge.start}")

  /** The rows of each result as they were aggregated. */
  def aggregated(stream: Stream, cuts: Seq[Int]): Seq[(Long, TimeWindow, Seq[Long])] = {
    import stream.edges
    val runner = new SweepRunner(specOf(stream))
    val bounds = (0 +: cuts.filter(_ < edges.length) :+ edges.length).distinct.sorted
    val outputs = bounds.zip(bounds.tail).flatMap { case (from, until) =>
      val reached = if (until < edges.length) edges(until).met else edges.last.met
      runner.batch(edges.slice(from, until).map(rowOf), edges(from).met, reached)
    } ++ runner.batch(Nil, edges.last.met, Long.MaxValue)
    outputs
      .collect { case Fired(key, window, values, _, _, _, _) =>
        (key.long, window, values.map(_.long))
      }
      .sortBy(fired => (fired._1, fired._2.end, fired._2.start))
  }

  def shown(results: Map[Int, Seq[Content]]): Seq[String] =
    results.toSeq.sortBy(_._1).flatMap(_._2).map { content =>
      s"${content.key} ${content.window} ${content.rows.toSeq.sorted.mkString(" ")}"
    }
}
