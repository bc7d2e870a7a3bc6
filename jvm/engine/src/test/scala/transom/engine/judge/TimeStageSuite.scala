package transom.engine.judge

import java.nio.ByteBuffer

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.runtime.{GroupInput, RowCounts}
import transom.engine.spec._
import transom.engine.state.{ByteRange, CountedState}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.RowContext

/** The time stage over many sources, with state between batches. */
class TimeStageSuite extends ScalaCheckSuite {
  import TimeStageSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  property("batches and restarts change no stamp and no count") {
    forAllNoShrink(policies, streams, cuts) { (policy, rows, cuts) =>
      val whole = new Runner(policy)
      val expected = whole.batch(rows)
      val cut = new Runner(policy)
      assertEquals(batches(rows, cuts).flatMap(cut.batch), expected)
      assertEquals(cut.counts.toSeq, whole.counts.toSeq)
    }
  }

  property("the stamps of a source do not depend on other sources") {
    forAllNoShrink(policies, streams) { (policy, rows) =>
      val together = new Runner(policy).batch(rows)
      rows.map(_.source).distinct.foreach { source =>
        val alone = new Runner(policy).batch(rows.filter(_.source == source))
        assertEquals(alone, together.filter(_.row.source == source))
      }
    }
  }

  property("p1: the floor of a late rule is above no accepted row, and changes no decision") {
    forAllNoShrink(policies, strict, streams) { (policy, late, rows) =>
      val floored =
        policy.copy(
          timeColumn = Some(0),
          late = Some(late),
          advance = FloorModel.periodicOf(policy))
      val stamps = new Runner(floored).batch(rows.map(_.copy(isPunctuation = false)))
      stamps.groupBy(_.row.source).values.foreach { own =>
        val arrivals = own.map(_.row.arrival).scanLeft(Long.MinValue)(math.max(_, _)).tail
        own.zip(arrivals).foreach { case (stamped, arrival) =>
          assert(stamped.dropped.nonEmpty || stamped.time >= arrival - late.beyondUs, stamped)
        }
        assertEquals(
          own.map(stamped => Option.when(stamped.dropped.isEmpty)(stamped.time)),
          FloorModel.withoutFloor(floored, own.map(_.row)),
          s"$floored, $rows")
      }
    }
  }

  property("p2: no accepted row is before the watermark it met, unless it may be out of order") {
    forAllNoShrink(policies, streams) { (policy, rows) =>
      new Runner(policy).batch(rows).foreach { stamped =>
        val accepted = stamped.dropped.isEmpty
        val mayBeBefore = policy.outOfOrder.isInstanceOf[Accept]
        val isData = accepted && !stamped.isPunctuation
        assert(!isData || mayBeBefore || stamped.time >= stamped.met, stamped)
      }
    }
  }

  property("the watermark of a source never falls") {
    forAllNoShrink(policies, streams) { (policy, rows) =>
      new Runner(policy).batch(rows).groupBy(_.row.source).values.foreach { stamps =>
        stamps.map(_.met).foldLeft(Watermark.NotYet) { (before, met) =>
          assert(met >= before, stamps)
          met
        }
      }
    }
  }

  test("a silent substream is forgotten once the floor has passed its watermark") {
    val policy = TimeStageSuite.policy(Some(Adjust(10)), Seq(0))
    val runner = new Runner(policy)
    runner.batch((0 until 50).map(source => Input(source, source.toLong, source.toLong)))
    assertEquals(runner.sources, 50)
    // 50 more substreams reach the limit of 64. The floor is then 1089.
    runner.batch((50 until 100).map(source => Input(source, 1000L + source, 1000L + source)))
    assertEquals(runner.sources, 10)
  }

  test("a substream that is forgotten meets the same watermark when it comes back") {
    val policy = TimeStageSuite.policy(Some(Adjust(10)), Seq(0))
    val many = (0 until 200).map(source => Input(source, 1000L + source, 1000L + source))
    val rows = Input(0, 5, 5) +: many :+ Input(0, 1201, 1201)
    val whole = new Runner(policy).batch(rows)
    val cut = new Runner(policy)
    assertEquals(rows.flatMap(row => cut.batch(Seq(row))), whole)
    assert(cut.sources < 150, cut.sources)
  }

  test("a substream whose punctuation is ahead of the floor is kept") {
    val ahead = Input(0, 5000, 5, isPunctuation = true)
    val many = (1 until 200).map(source => Input(source, 1000L + source, 1000L + source))
    val runner = new Runner(TimeStageSuite.policy(Some(Adjust(10)), Seq(0)))
    (ahead +: many).foreach(row => runner.batch(Seq(row)))
    assert(runner.sources < 150, runner.sources)
    assertEquals(runner.batch(Seq(Input(0, 1201, 1201))).map(_.met), Seq(5000L))
  }

  test("substreams are kept while no late rule sets a floor") {
    val runner = new Runner(TimeStageSuite.policy(None, Seq(0)))
    runner.batch((0 until 200).map(source => Input(source, source.toLong, source.toLong)))
    assertEquals(runner.sources, 200)
  }
}

private[engine] object TimeStageSuite {

  /** A row: its source, its time, its arrival and the end of its lifetime. The time of a
    * punctuation is the watermark that it sets.
    */
  final case class Input(
      source: Int,
      time: Long,
      arrival: Long,
      isPunctuation: Boolean = false,
      end: Long = RowContext.NoEnd)

  final case class Output(
      row: Input,
      time: Long,
      met: Long,
      rules: PolicyRules,
      isAdjusted: Boolean,
      dropped: Option[String],
      isPunctuation: Boolean)

  def policy(late: Option[TimeRule], over: Seq[Int]): TimePolicy =
    TimePolicy(
      Some(0),
      Some(1),
      None,
      Nil,
      over,
      None,
      late,
      Accept(0),
      Periodic(Some(1), None),
      None,
      estimateArrival = false)

  private val bounds = Gen.choose(0L, 12L)
  val strict: Gen[TimeRule] = Gen.oneOf(bounds.map(Drop(_)), bounds.map(Adjust(_)))
  private val periodic = Gen.oneOf(
    Gen.const(Periodic(Some(1), None)),
    Gen.const(Periodic(Some(3), None)),
    Gen.choose(1L, 9L).map(every => Periodic(None, Some(every))),
    Gen.choose(1L, 9L).map(every => Periodic(Some(4), Some(every))))
  private val advances = Gen.oneOf[AdvanceRule](
    periodic,
    periodic,
    Gen.option(periodic).map(Punctuated(whenColumn = 3, atColumn = 4, _)))

  val policies: Gen[TimePolicy] = for {
    hasTime <- Gen.frequency(9 -> true, 1 -> false)
    early <- Gen.option(strict)
    late <- Gen.option(strict)
    outOfOrder <- Gen.oneOf(strict, bounds.map(Accept(_)))
    over <- Gen.oneOf(Nil, Seq(2))
    advance <- advances
  } yield TimePolicy(
    Option.when(hasTime)(0),
    Some(1),
    None,
    Nil,
    over,
    early.filter(_ => hasTime),
    late.filter(_ => hasTime),
    outOfOrder,
    advance,
    None,
    estimateArrival = false)

  val streams: Gen[Seq[Input]] = for {
    length <- Gen.choose(1, 60)
    sources <- Gen.oneOf(1, 3, 80)
    steps <- Gen.listOfN(
      length,
      Gen.zip(
        Gen.choose(0, sources - 1),
        Gen.choose(-20L, 12L),
        Gen.choose(-1L, 5L),
        Gen.frequency(6 -> false, 1 -> true)))
  } yield {
    val arrivals = steps
      .scanLeft(100L) { case (arrival, (_, _, wait, _)) =>
        arrival + wait
      }
      .tail
    steps.zip(arrivals).map { case ((source, ahead, _, isPunctuation), arrival) =>
      Input(source, arrival + ahead, arrival, isPunctuation)
    }
  }

  val cuts: Gen[Seq[Int]] = Gen.listOf(Gen.choose(0, 60))

  def batches(rows: Seq[Input], cuts: Seq[Int]): Seq[Seq[Input]] = {
    val bounds = (0 +: cuts.filter(_ < rows.length) :+ rows.length).distinct.sorted
    bounds.zip(bounds.tail).map { case (from, until) => rows.slice(from, until) }
  }

  /** Runs the stage over one key group. Each batch has an operator of its own.
    *
    * @param windows
    *   the spec of the windows behind the stage, if there are any
    */
  final class Runner(policy: TimePolicy, windows: Option[WindowSpec] = None) {
    private val state = new CountedState
    private val store = new SourceStore(state)
    private var current: Input = _
    private val logic = new TimePolicyLogic(policy)
    private val stage = new TimeStage(
      (store, now) =>
        windows.fold[Judge](new SourceWatermarks(logic, store))(
          new PartitionWatermarks(policy, logic, Nil, _, store, now)),
      Rows)
    val counts = new RowCounts

    /** The last watermark that the stage has sent. */
    var watermark: Long = Watermark.NotYet

    def sources: Int = state.sizeOf("sources")

    def batch(rows: Seq[Input]): Seq[Output] = {
      val operator = stage.open(0, store, 0L)
      val outputs = operator.process(rows.iterator.map(groupInputOf)).toVector
      counts.add(operator.counts.bytes)
      outputs
    }

    private def groupInputOf(input: Input): GroupInput = {
      current = input
      val row = new GroupInput.Row
      val source = ByteBuffer.allocate(8).putLong(input.source.toLong).array
      row.key.set(source, 0, source.length)
      row.context.time = input.time
      row.context.arrival = input.arrival
      row.context.end = input.end
      if (input.isPunctuation) new GroupInput.Punctuation(row) else row
    }

    private object Rows extends JudgedRows[Output] {
      override def judged(row: ByteRange, stamp: Judgement): Output =
        Output(
          current,
          stamp.time,
          stamp.watermark,
          stamp.broken,
          stamp.isAdjusted,
          Option(stamp.dropped).map(_.name),
          stamp.isPunctuation)
      override def advance(to: Advance): Unit =
        if (to.after != Watermark.NotYet) Runner.this.watermark = to.after
    }
  }
}
