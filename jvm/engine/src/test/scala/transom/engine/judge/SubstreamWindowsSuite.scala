package transom.engine.judge

import scala.collection.mutable
import scala.concurrent.duration._

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.judge._
import transom.engine.spec._
import transom.engine.state.Limits
import transom.engine.time.{Timeline, Watermark}
import transom.engine.window.{RowContext, TimeWindow, Tumbling, Window}
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json

/** Windows over substreams: each key follows the watermark of its substream, and the floor. */
class SubstreamWindowsSuite extends ScalaCheckSuite {
  import SubstreamWindowsSuite._

  override def munitTimeout: Duration = 2.minutes

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(800))

  property("after each row, exactly the windows have fired that a clock for each key fires") {
    forAllNoShrink(PolicyWindowsSuite.windows, policies, streams, Gen.oneOf(true, false)) {
      (window, policy, generated, isKey) =>
        val rows = if (isKey) generated.map(_.copy(rest = 0)) else generated
        val model = new Model(window, policy)
        val groups = new Groups(window, policy, Limits.Default, isKey)
        rows.foreach { row =>
          assertEquals(groups.batch(Seq(row)), model.add(row), s"$window, $policy, $rows, $row")
        }
        assertEquals(groups.end(), model.end(), s"$window, $policy, $rows")
    }
  }

  property("batches and memory limits change nothing") {
    forAllNoShrink(
      PolicyWindowsSuite.windows,
      policies,
      streams,
      TimeStageSuite.cuts,
      Gen.oneOf(true, false)) { (window, policy, generated, cuts, isKey) =>
      val rows = if (isKey) generated.map(_.copy(rest = 0)) else generated
      val whole = new Model(window, policy)
      val expected = (rows.flatMap(whole.add) ++ whole.end()).sorted
      Seq(Limits.Default, Limits.Default.copy(keys = 0L)).foreach { limits =>
        val groups = new Groups(window, policy, limits, isKey)
        val bounds = (0 +: cuts.filter(_ < rows.length) :+ rows.length).distinct.sorted
        val got = bounds.zip(bounds.tail).flatMap { case (from, until) =>
          groups.batch(rows.slice(from, until))
        } ++ groups.end()
        assertEquals(got.sorted, expected, s"$window, $policy, $rows, $cuts, $limits")
      }
    }
  }

  test("generated streams fire windows by substreams and by the floor, and have late rows") {
    val fired = mutable.Map.empty[String, Int].withDefaultValue(0)
    Generators.samples(600, Gen.zip(PolicyWindowsSuite.windows, policies, streams)).foreach {
      case (window, policy, rows) =>
        val groups = new Groups(window, policy, Limits.Default, isKey = false)
        rows.foreach { row =>
          groups.batch(Seq(row)).foreach { output =>
            val isOfRow = output.contains(s"[${row.substream},")
            val kind =
              if (output.startsWith("late")) "late"
              else if (isOfRow && row.isPunctuation) "punctuation"
              else if (isOfRow) "own"
              else "floor"
            fired(kind) += 1
          }
        }
    }
    Seq("late", "own", "punctuation", "floor").foreach(kind =>
      assert(fired(kind) > 100, s"$kind $fired"))
  }

  test("ticks estimate the arrival of the next row, which moves the floor") {
    val policy = TimeStageSuite.policy(Some(Adjust(10)), Seq(0)).copy(estimateArrival = true)
    val runner = new SubstreamRunner(specOf(Tumbling(10), policy), policy, Some(_.elements.head))
    assertEquals(runner.batch(Seq(Input(0, 0, 103, 105, 1).row), 105L), Nil)
    runner.tick(119L)
    assertEquals(runner.takeFired(), Nil)
    runner.tick(120L)
    assertEquals(runner.takeFired().map(_.window), Seq(TimeWindow(100, 110)))
    // The row counts as arriving at 120, so its time moves to 110.
    assertEquals(runner.batch(Seq(Input(1, 0, 99, 107, 2).row), 107L), Nil)
    assertEquals(runner.end().collect { case f: Fired => f.window }, Seq(TimeWindow(110, 120)))
  }

  test("the clock and the timers of a silent substream go once the floor has passed it") {
    val policy = TimeStageSuite.policy(Some(Adjust(10)), Seq(0))
    val runner =
      new SubstreamRunner(specOf(Tumbling(10), policy), policy, Some(_.elements.head))
    def batch(substreams: Range, from: Long): Unit = runner.batch(
      substreams.map(n => Input(n, n % 2, from + n, from + n)).map(_.row),
      from + substreams.last): Unit
    batch(0 until 50, 0L)
    assertEquals(runner.substreams, 50)
    // 50 more substreams reach the limit of 64. The floor is then 1089.
    batch(50 until 100, 1000L)
    // The windows of the last 20 substreams end at 1090 and at 1100.
    assertEquals(runner.substreams, 20)
    // The store has the timer of each of them, and the number of its timers.
    assertEquals(runner.timers, 40)
  }

  Seq(false, true).foreach { isKey =>
    test(s"without a late rule, windows that have fired leave no timer, isKey = $isKey") {
      val policy = TimeStageSuite.policy(None, Seq(0))
      val substreamOf = Option.unless[Json => Json](isKey)(_.elements.head)
      val runner = new SubstreamRunner(specOf(Tumbling(10), policy), policy, substreamOf)
      val fired = (0 until 50).flatMap { n =>
        runner.batch(Seq(Input(1, 0, 20L * n, 20L * n, n.toLong).row), 20L * n)
      }
      assertEquals(fired.collect { case f: Fired => f.window.start }, (0 until 49).map(20L * _))
      // The index has its header alone.
      assertEquals((runner.keys, runner.commonTimers), (1, 1))
      assertEquals(runner.end().collect { case f: Fired => f.window }, Seq(TimeWindow(980, 990)))
      assert(runner.isEmpty)
    }
  }

  test("the end of the input reaches a key after a batch that has written others early") {
    val policy = TimeStageSuite.policy(None, Seq(0))
    val limits = Limits.Default.copy(keys = 0L)
    val runner =
      new SubstreamRunner(specOf(Tumbling(10), policy), policy, Some(_.elements.head), limits)
    assertEquals(runner.batch(Seq(Input(2, 0, 5, 5).row), 5L), Nil)
    val others =
      Seq(Input(1, 0, 5, 6, 1), Input(1, 1, 5, 7, 2), Input(1, 0, 30, 8, 3, isPunctuation = true))
    assertEquals(runner.batch(others.map(_.row), 8L).count(_.isInstanceOf[Fired]), 2)
    assertEquals((runner.keys, runner.nextTimer), (1, Timeline.EndOfTime))
    assertEquals(runner.end().collect { case f: Fired => f.window }, Seq(TimeWindow(0, 10)))
  }

  test("100,000 substreams: the results are exact, and the state of silent substreams goes") {
    val inBatch = 10000
    val policy = TimeStageSuite.policy(Some(Adjust(100)), Seq(0))
    val runner = new SubstreamRunner(specOf(Tumbling(10), policy), policy, substreamOf = None)
    // Each substream has two rows, each alone in its window.
    def windowOf(row: Long) = {
      val start = 1000 * (row / 2 / inBatch) + 10 * (row % 2)
      TimeWindow(start, start + 10)
    }
    val fired = mutable.BitSet.empty
    def take(outputs: Seq[Output]): Unit = outputs.foreach {
      case Fired(key, window, Seq(row), _, _, _, _) =>
        assertEquals((key.elements.head.long, window), (row.long / 2, windowOf(row.long)))
        assert(fired.add(row.long.toInt), s"$row has fired twice")
      case _: ResultWatermark => ()
      case other => fail(s"$other")
    }

    (0 until 10).foreach { batch =>
      val from = 1000L * batch
      val substreams = batch * inBatch until (batch + 1) * inBatch
      val rows = Seq(0, 10).flatMap(at =>
        substreams.map(n => Input(n, 0, from + at + n % 10, from + 20, 2L * n + at / 10).row))
      take(runner.batch(rows, from + 20))
      // The substream's own watermark closes its first window.
      assert(substreams.forall(n => fired(2 * n)))
      // The floor has closed all windows of the substreams before, and their state is gone.
      assertEquals(fired.size, 2 * inBatch * batch + inBatch)
      assertEquals((runner.substreams, runner.keys), (inBatch, inBatch))
    }
    take(runner.end())
    assertEquals(fired.size, 20 * inBatch)
    assert(runner.isEmpty)
  }
}

private object SubstreamWindowsSuite {

  /** A row: the substream and the rest of its key, its time and its arrival. */
  final case class Input(
      substream: Int,
      rest: Int,
      time: Long,
      arrival: Long,
      number: Long = 0,
      isPunctuation: Boolean = false) {
    val key: Json = Json.parse(s"[$substream,$rest]")
    def row: Row = Row(
      key,
      Json.parse(s"$number"),
      Some(time),
      number,
      clock = arrival,
      isPunctuation = isPunctuation)
  }

  /** Policies that need no more than the order of rows: arrivals of a stream never go back. */
  val policies: Gen[TimePolicy] =
    TimeStageSuite.policies.map(_.copy(overColumns = Seq(2)))

  val streams: Gen[Seq[Input]] = for {
    rows <- TimeStageSuite.streams
    rests <- Gen.listOfN(rows.length, Gen.choose(0, 2))
  } yield {
    val arrivals = rows.map(_.arrival).scanLeft(0L)(math.max).tail
    rows.zip(rests).zip(arrivals).zipWithIndex.map { case (((row, rest), arrival), i) =>
      Input(row.source % 7, rest, row.time, arrival, i.toLong, row.isPunctuation)
    }
  }

  def specOf(window: Window, policy: TimePolicy): WindowSpec =
    Specs.of(window, time = policy, lateRows = LateRows.Partly)

  private def shown(output: Output): String = output match {
    case reached: ResultWatermark => reached.toString
    case Fired(key, window, values, _, _, _, _) => s"$key $window ${values.map(_.value)}"
    case row: SideRow => s"late $row"
    case Ended(window) => throw new IllegalStateException(s"$window")
  }

  /** Two key groups of substreams. All rows of a key are in one of them.
    *
    * @param isKey
    *   whether each key is a substream
    */
  final class Groups(window: Window, policy: TimePolicy, limits: Limits, isKey: Boolean) {
    private val substreamOf = Option.unless[Json => Json](isKey)(_.elements.head)
    private val groups =
      Seq.fill(2)(new SubstreamRunner(specOf(window, policy), policy, substreamOf, limits))

    /** The outputs of a batch, sorted. */
    def batch(rows: Seq[Input]): Seq[String] = {
      val latest = rows.map(_.arrival).maxOption.getOrElse(Watermark.NotYet)
      groups.zipWithIndex
        .flatMap { case (group, i) =>
          group.batch(rows.filter(_.substream % 2 == i).map(_.row), latest)
        }
        .map(shown)
        .sorted
    }

    def end(): Seq[String] = {
      val outputs = groups.flatMap(_.end())
      assert(groups.forall(_.isEmpty), "state is left after the end of time")
      outputs.map(shown).sorted
    }
  }

  /** An operator for each key, which a watermark of its own advances after each row. */
  final class Model(window: Window, policy: TimePolicy) {
    private val logic = new TimePolicyLogic(policy)
    private val clocks = mutable.Map.empty[Int, SourceWatermark]
    private val operators = mutable.Map.empty[(Int, Int), KeyedRunner]
    private var latest = Watermark.NotYet

    /** The outputs of a row, and of all keys after it, sorted. */
    def add(input: Input): Seq[String] = {
      val stamp = new Judgement
      val clock = clocks.getOrElseUpdate(input.substream, new SourceWatermark)
      if (input.isPunctuation) logic.punctuate(clock, input.time, input.arrival, stamp)
      else logic.judge(clock, input.time, input.arrival, RowContext.NoEnd, stamp)
      latest = math.max(latest, input.arrival)
      val added =
        if (stamp.dropped != null || input.isPunctuation) Nil
        else {
          val key = (input.substream, input.rest)
          val own = operators.getOrElseUpdate(key, new KeyedRunner(specOf(window, policy)))
          val row = input.row.copy(time = Some(stamp.time))
          own.batch(Seq(row), stamp.watermark, stamp.watermark)
        }
      (added ++ advanced).map(shown).sorted
    }

    def end(): Seq[String] =
      operators.values.flatMap(_.batch(Nil, Long.MaxValue, Long.MaxValue)).map(shown).toSeq.sorted

    private def advanced: Seq[Output] = operators.toSeq.flatMap {
      case ((substream, _), operator) =>
        val watermark = math.max(logic.watermarkOf(clocks(substream)), logic.floorOf(latest))
        operator.batch(Nil, watermark, watermark)
    }
  }
}
