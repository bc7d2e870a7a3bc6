package transom.engine.judge

import munit.FunSuite

import transom.engine.runtime.DeadLetterReason
import transom.engine.spec._
import transom.engine.time.Watermark
import transom.engine.window.RowContext

/** The rules, row by row. Times are in seconds. */
class TimePolicyLogicSuite extends FunSuite {
  import TimePolicyLogicSuite._

  test("a row at a bound breaks no rule") {
    val rules = policy(early = Some(Drop(5)), late = Some(Drop(5)), outOfOrder = Drop(2))
    assertEquals(
      judge(rules, (10, 10), (15, 10), (13, 10), (5, 10)),
      Seq(
        Judged(10, NotYet),
        Judged(15, 8),
        Judged(13, 13),
        dropped(13, DeadLetterReason.OutOfOrder)))
    assertEquals(judge(rules, (16, 10)).head.reason, Some("early"))
    assertEquals(judge(rules, (4, 10)).head.reason, Some("late_arrival"))
  }

  test("a row may be adjusted twice, first by the late rule") {
    val rules = policy(late = Some(Adjust(5)), outOfOrder = Adjust(2))
    assertEquals(
      judge(rules, (20, 20), (1, 21)).last,
      Judged(18, 18, outOfOrder + PolicyRule.LateArrival, isAdjusted = true))
  }

  test("a dropped row moves the floor of the late rule, and nothing else") {
    val rules = policy(early = Some(Drop(0)), late = Some(Adjust(5)))
    assertEquals(judge(rules, (10, 10), (90, 30), (29, 30)).map(_.met), Seq(NotYet, 10L, 25L))
  }

  test("an accepted row that is out of order keeps its time") {
    val rules = policy(outOfOrder = Accept(0))
    assertEquals(judge(rules, (10, 0), (3, 0)).last, Judged(3, 10, outOfOrder))
  }

  test("an arrival never goes back") {
    val rules = policy(early = Some(Drop(5)))
    assertEquals(judge(rules, (10, 10), (12, 1)).map(_.reason), Seq(None, None))
  }

  test("the watermark advances after a number of accepted rows") {
    val rules = policy(outOfOrder = Drop(0), advance = Periodic(Some(2), None))
    assertEquals(
      judge(rules, (1, 0), (2, 0), (1, 0), (3, 0), (4, 0), (5, 0)).map(_.met),
      Seq(NotYet, NotYet, 2L, 2L, 2L, 4L))
  }

  test("the watermark follows the multiples of a span") {
    val rules = policy(outOfOrder = Accept(1), advance = Periodic(None, Some(10 * Second)))
    assertEquals(
      judge(rules, (3, 0), (12, 0), (19, 0), (25, 0), (26, 0)).map(_.met),
      Seq(NotYet, -1L, 9L, 9L, 19L))
  }

  test("without a time column the arrival is the time, and arrivals do not go back") {
    val rules = policy().copy(timeColumn = None)
    assertEquals(judge(rules, (99, 10), (1, 12), (50, 11)).map(_.time), Seq(10L, 12L, 12L))
  }

  test("punctuation sets the watermark of its source, without the tolerance, and never back") {
    val rules = policy(outOfOrder = Drop(5), advance = Punctuated(2, 3, None))
    val steps = Seq(Data(8), Cti(10), Data(10), Cti(7), Data(9))
    assertEquals(
      play(rules, steps),
      Seq(
        Judged(8, NotYet),
        Judged(10, NotYet, isPunctuation = true),
        Judged(10, 10),
        Judged(7, 10, isPunctuation = true),
        dropped(10, DeadLetterReason.OutOfOrder)))
  }

  test("beside punctuation, the watermark also follows the rows") {
    val beside = Periodic(Some(2), None)
    val rules = policy(outOfOrder = Accept(1), advance = Punctuated(2, 3, Some(beside)))
    val steps = Seq(Data(10), Cti(5), Data(12), Cti(30), Data(20), Data(40), Data(41))
    assertEquals(play(rules, steps).map(_.met), Seq(NotYet, NotYet, 5L, 11L, 30L, 30L, 39L))
  }

  test("no rule judges punctuation, and its arrival moves the floor") {
    val rules = policy(early = Some(Drop(0)), late = Some(Drop(5)))
    val steps = Seq(Cti(90), Data(10, arrival = 10), Cti(3, arrival = 200), Data(200, 200))
    assertEquals(
      play(rules, steps).map(judged => (judged.met, judged.rules)),
      Seq((NotYet, none), (90L, outOfOrder), (90L, none), (195L, none)))
  }

  test("a row that a rule moves to its end or behind it is dropped") {
    val rules = policy(outOfOrder = Adjust(0), advance = Punctuated(2, 3, None))
    val steps = Seq(Cti(10), Data(5, end = 11), Data(5, end = 10), Data(2, end = 8))
    assertEquals(
      play(rules, steps).tail,
      Judged(10, 10, outOfOrder, isAdjusted = true) +:
        Seq.fill(2)(dropped(10, DeadLetterReason.OutOfOrder)))
  }

  test("a row of a substream meets the floor of its own arrival") {
    val rules = policy(late = Some(Adjust(5))).copy(overColumns = Seq(2))
    assertEquals(judge(rules, (10, 10), (40, 40)).map(_.met), Seq(5L, 35L))
  }
}

private object TimePolicyLogicSuite {
  val Second = 1000000L
  val NotYet: Long = Watermark.NotYet
  val none: PolicyRules = PolicyRules.None
  val outOfOrder: PolicyRules = PolicyRules(PolicyRule.OutOfOrder)

  /** A decision, with times in seconds. A dropped row has no time. */
  final case class Judged(
      time: Long,
      met: Long,
      rules: PolicyRules = none,
      isAdjusted: Boolean = false,
      reason: Option[String] = None,
      isPunctuation: Boolean = false)

  def dropped(met: Long, reason: DeadLetterReason): Judged =
    Judged(-1, met, outOfOrder, reason = Some(reason.name))

  def policy(
      early: Option[TimeRule] = None,
      late: Option[TimeRule] = None,
      outOfOrder: TimeRule = Accept(0),
      advance: AdvanceRule = Periodic(Some(1), None)): TimePolicy =
    TimePolicy(
      timeColumn = Some(0),
      arrivalColumn = Some(1),
      partitionColumn = None,
      partitions = Nil,
      overColumns = Nil,
      early = early.map(inMicros),
      late = late.map(inMicros),
      outOfOrder = inMicros(outOfOrder),
      advance = advance,
      idlePartitionUs = None,
      estimateArrival = false)

  private def inMicros(rule: TimeRule): TimeRule = rule match {
    case Accept(beyond) => Accept(beyond * Second)
    case Drop(beyond) => Drop(beyond * Second)
    case Adjust(beyond) => Adjust(beyond * Second)
  }

  /** A step of a source, with times in seconds. */
  sealed trait Step

  /** A row. The end is the end of its lifetime, if it has one. */
  final case class Data(time: Int, arrival: Int = 0, end: Int = NoEnd) extends Step

  /** A punctuation. */
  final case class Cti(at: Int, arrival: Int = 0) extends Step

  final val NoEnd = -1

  /** Judges rows of one source: pairs of time and arrival. */
  def judge(policy: TimePolicy, rows: (Int, Int)*): Seq[Judged] =
    play(policy, rows.map { case (time, arrival) => Data(time, arrival) })

  /** Takes the steps of one source. */
  def play(policy: TimePolicy, steps: Seq[Step]): Seq[Judged] = {
    val logic = new TimePolicyLogic(policy)
    val source = new SourceWatermark
    val stamp = new Judgement
    steps.map { step =>
      step match {
        case Data(time, arrival, end) =>
          val until = if (end == NoEnd) RowContext.NoEnd else end * Second
          logic.judge(source, time * Second, arrival * Second, until, stamp)
        case Cti(at, arrival) =>
          logic.punctuate(source, at * Second, arrival * Second, stamp)
      }
      Judged(
        if (stamp.dropped == null) stamp.time / Second else -1,
        if (stamp.watermark == NotYet) NotYet else Math.floorDiv(stamp.watermark, Second),
        stamp.broken,
        stamp.isAdjusted,
        Option(stamp.dropped).map(_.name),
        stamp.isPunctuation)
    }
  }
}
