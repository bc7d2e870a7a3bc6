package transom.engine.policy

import munit.FunSuite

import transom.engine.operator.DeadLetterReason
import transom.engine.spec._
import transom.engine.time.Watermark

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
      Judged(18, 18, Stamp.LateArrival | Stamp.OutOfOrder, isAdjusted = true))
  }

  test("a dropped row moves the floor of the late rule, and nothing else") {
    val rules = policy(early = Some(Drop(0)), late = Some(Adjust(5)))
    assertEquals(judge(rules, (10, 10), (90, 30), (29, 30)).map(_.met), Seq(NotYet, 10L, 25L))
  }

  test("an accepted row that is out of order keeps its time") {
    val rules = policy(outOfOrder = Accept(0))
    assertEquals(judge(rules, (10, 0), (3, 0)).last, Judged(3, 10, Stamp.OutOfOrder))
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

  test("a row of a substream meets the floor of its own arrival") {
    val rules = policy(late = Some(Adjust(5))).copy(overColumns = Seq(2))
    assertEquals(judge(rules, (10, 10), (40, 40)).map(_.met), Seq(5L, 35L))
  }
}

private object TimePolicyLogicSuite {
  val Second = 1000000L
  val NotYet: Long = Watermark.NotYet

  /** A decision, with times in seconds. A dropped row has no time. */
  final case class Judged(
      time: Long,
      met: Long,
      rules: Int = 0,
      isAdjusted: Boolean = false,
      reason: Option[String] = None)

  def dropped(met: Long, reason: DeadLetterReason): Judged =
    Judged(-1, met, Stamp.OutOfOrder, reason = Some(reason.name))

  def policy(
      early: Option[TimeRule] = None,
      late: Option[TimeRule] = None,
      outOfOrder: TimeRule = Accept(0),
      advance: Periodic = Periodic(Some(1), None)): TimePolicy =
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

  /** Judges rows of one source: pairs of time and arrival. */
  def judge(policy: TimePolicy, rows: (Int, Int)*): Seq[Judged] = {
    val logic = new TimePolicyLogic(policy)
    val source = new SourceClock
    val stamp = new Stamp
    rows.map { case (time, arrival) =>
      logic.judge(source, time * Second, arrival * Second, stamp)
      Judged(
        if (stamp.dropped == null) stamp.time / Second else -1,
        if (stamp.watermark == NotYet) NotYet else Math.floorDiv(stamp.watermark, Second),
        stamp.rules,
        stamp.isAdjusted,
        Option(stamp.dropped).map(_.name))
    }
  }
}
