package transom.engine.runtime

import munit.FunSuite

class RowRulesSuite extends FunSuite {
  import DeadLetterReason._

  private final class Row(breaks: Set[DeadLetterReason], val isPunctuation: Boolean)
      extends RuledRow {
    override def lacksSubstream: Boolean = breaks(NoSubstream)
    override def isOfUnknownPartition: Boolean = breaks(UnknownPartition)
    override def lacksTime: Boolean = breaks(NoTime)
    override def time: Long = if (breaks(TimeOutOfRange)) Long.MaxValue else 7L
    override def arrival: Long = 0L
    override def hasFailedKey: Boolean = breaks(KeyFailed)
    override def windowProblem: Option[DeadLetterReason] = Some(BadGap).filter(breaks)
  }

  private val rules =
    List(NoSubstream, UnknownPartition, NoTime, TimeOutOfRange, KeyFailed, BadGap)

  private def broken(breaks: List[DeadLetterReason], isPunctuation: Boolean = false) =
    RowRules.problem(new Row(breaks.toSet, isPunctuation))

  test("the first rule that a row breaks is the reason of its dead letter") {
    rules.tails.foreach(breaks => assertEquals(broken(breaks), breaks.headOption))
    rules.foreach(rule => assertEquals(broken(List(rule)), Some(rule)))
  }

  test("punctuation needs a time on the clock of its source, but no key and no windows") {
    rules.foreach { rule =>
      val expected = Some(rule).filterNot(Set(KeyFailed, BadGap))
      assertEquals(broken(List(rule), isPunctuation = true), expected)
    }
  }

  test("the arrival of a row is in the range of Spark's timestamps, as its time is") {
    val row = new RuledRow {
      override def lacksSubstream: Boolean = false
      override def isOfUnknownPartition: Boolean = false
      override def lacksTime: Boolean = false
      override def time: Long = 7L
      override def arrival: Long = Long.MinValue
      override def hasFailedKey: Boolean = false
      override def isPunctuation: Boolean = false
      override def windowProblem: Option[DeadLetterReason] = None
    }
    assertEquals(RowRules.problem(row), Some(TimeOutOfRange))
  }
}
