package transom.engine.runtime

import munit.FunSuite

import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.spec._
import transom.engine.state.{Limits, MemoryStore}
import transom.engine.time.Advance
import transom.engine.window.{Closed, Session, TimeConvention, Tumbling}

/** The contract between a host and the operator of a key group, apart from results. */
class KeyGroupOperatorSuite extends FunSuite {

  private def logs(spec: WindowSpec): () => KeyGroupOperator[Output] = {
    val operator = LogRunner.operatorOf(spec, Limits.Default)
    () => operator.open(0, Vector(new MemoryStore), 7L)
  }

  private def keyed(spec: WindowSpec): () => KeyGroupOperator[Output] = {
    val runner = new KeyedRunner(spec)
    () => runner.open(7L)
  }

  private def all: Seq[() => KeyGroupOperator[Output]] =
    Seq(logs(Specs.of(Tumbling(10))), logs(Specs.of(Session(10))), keyed(Specs.of(Tumbling(10))))

  private val end = new GroupInput.Advanced(Advance.to(Long.MaxValue))

  test("an operator processes one batch only") {
    all.foreach { open =>
      val operator = open()
      operator.process(Iterator(end)).foreach(identity)
      intercept[IllegalStateException](operator.process(Iterator(end)))
    }
  }

  test("a key group cannot be opened before the previous one is exhausted") {
    all.foreach { open =>
      val first = open().process(Iterator(end))
      intercept[IllegalStateException](open())
      assertEquals(first.toSeq, Nil)
      assertEquals(open().process(Iterator(end)).toSeq, Nil)
    }
  }

  test("an operator adds up the counts of the map side") {
    val counted = new RowCounts
    counted.add(RowCounts.In, 3)
    counted.add(RowCounts.OutOfRange)
    all.foreach { open =>
      val operator = open()
      assert(operator.counts.isEmpty)
      val inputs =
        Iterator(new GroupInput.Counts(counted.bytes), new GroupInput.Counts(counted.bytes), end)
      operator.process(inputs).foreach(identity)
      val expected = Map(RowCounts.In -> 6L, RowCounts.OutOfRange -> 2L).withDefaultValue(0L)
      RowCounts.all.foreach { count =>
        assertEquals(operator.counts(count), expected(count), count.name)
      }
    }
  }

  test("a dead letter is emitted with the host's watermark") {
    val row = Row(Json.parse("1"), Json.parse("2"), None, 5L)
    all.foreach { open =>
      val letter = new GroupInput.DeadLetter
      letter.input.set(Operator.input(row, row.accumulator, TimeConvention.Start, 0L).input)
      letter.reason = DeadLetterReason.TimeOutOfRange
      letter.time = Some(99L)
      letter.lateWatermark = 40L
      val outputs = open().process(Iterator(letter, end)).toSeq
      assertEquals(
        outputs,
        Seq(SideRow(5L, DeadLetterReason.TimeOutOfRange, Nil, Some(99L), Some(40L)): Output))
    }
  }

  test("the next timer is the end of the earliest open window") {
    val row = Row(Json.parse("1"), Json.parse("2"), Some(13L), 1L)
    val before = Long.MinValue
    Seq[(Closed, Operator, Long)](
      (Closed.Left, new GridOperator(Tumbling(10)), 20L),
      (Closed.Right, new GridOperator(Tumbling(10, closed = Closed.Right)), 21L),
      (Closed.Left, new SessionOperator(10), 23L),
      (
        Closed.Right,
        new SessionOperator(Specs.of(Session(10, closed = Closed.Right)), Limits.Default),
        24L),
      (Closed.Right, new KeyedRunner(Specs.of(Session(10, closed = Closed.Right))), 24L))
      .foreach { case (closed, operator, timer) =>
        operator.batch(Seq(row), before, before): Unit
        assertEquals(operator.nextTimer, timer, s"$closed")
        operator.batch(Nil, before, Long.MaxValue): Unit
        assertEquals(operator.nextTimer, Long.MaxValue)
      }
  }
}
