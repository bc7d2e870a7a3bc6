package transom.engine.runtime

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.spec._
import transom.engine.window.{Closed, Cumulate, GridWindow, Hopping, Session, TimeWindow, Tumbling, Window}

/** The layouts give the same results for each spec that both support. */
class LayoutsSuite extends ScalaCheckSuite {
  import LayoutsSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(3000))

  property("windows, late rows and counts are the same in the keyed layout and in a log") {
    forAllNoShrink(specs, streams) { (spec, stream) =>
      val expected = played(log(spec), stream)
      assertEquals(played(new KeyedRunner(spec), stream), expected, s"$spec, $stream")
      if (spec.window.isInstanceOf[GridWindow])
        assertEquals(played(new CombinedKeyedRunner(spec), stream), expected, s"$spec, $stream")
    }
  }

  test("some late session rows of the generated streams count, and some do not") {
    val seen = Generators.samples(2000, Gen.zip(specs, streams)).collect {
      case (spec, stream) if !spec.window.isInstanceOf[GridWindow] =>
        val operator = new KeyedRunner(spec)
        val late = lateRows(spec.window, stream)
        played(operator, stream)
        (late, operator.counts(RowCounts.Late))
    }
    assert(seen.count { case (late, missed) => missed > 1 } > 100, seen.size)
    assert(seen.count { case (late, missed) => missed < late } > 100, seen.size)
  }

  test("late rows are tried from the newest to the oldest, after all other rows of the batch") {
    val spec = specOf(Session(10), LateRows.Late)
    // Row 3 touches the session only through row 12, and row 12 only through row 20.
    val stream = Seq(Batch(Nil, 25), Batch(Seq("a" -> 3L, "a" -> 12L, "a" -> 20L, "a" -> 1L), 40))
    Seq(log(spec), new KeyedRunner(spec)).foreach { operator =>
      val (fired, late) = played(operator, stream)
      assertEquals(fired.map(_._3), Seq(Some(TimeWindow(1, 30))))
      assertEquals(late.collect { case (_, row: SideRow, _) => row }, Nil)
    }
  }
}

object LayoutsSuite extends munit.Assertions {

  /** Rows that meet the watermark of the previous batch, and a new watermark. */
  final case class Batch(rows: Seq[(String, Long)], watermark: Long)

  /** A result: number of the batch, key, window, numbers of the rows. */
  private type Result = (Int, Any, Option[TimeWindow], Seq[Any])

  private def specOf(window: Window, lateRows: LateRows): WindowSpec =
    Specs.of(window, lateRows = lateRows)

  val specs: Gen[WindowSpec] = for {
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    size <- Gen.choose(1L, 24L)
    step <- Gen.choose(1L, 24L)
    offset <- Gen.choose(-5L, 5L)
    window <- Gen.frequency[Window](
      1 -> Tumbling(size, offset % size, closed = closed),
      2 -> Hopping(size, step, offset % step, closed = closed),
      1 -> Cumulate(size * 3, size, offset % size, closed = closed),
      4 -> Gen.oneOf(true, false).map(Session(size, _, closed)))
    lateRows <- Gen.oneOf(LateRows.No, LateRows.Late, LateRows.Partly)
  } yield specOf(window, lateRows)

  val streams: Gen[Seq[Batch]] = {
    val move = for {
      count <- Gen.choose(0, 7)
      shifts <- Gen.listOfN(count, Gen.zip(Gen.oneOf("a", "b"), Gen.choose(-40L, 12L)))
      by <- Gen.oneOf(Gen.choose(0L, 4L), Gen.choose(0L, 30L))
    } yield (shifts, by)
    Gen.choose(1, 12).flatMap(Gen.listOfN(_, move)).map { moves =>
      moves.tail
        .scanLeft(batch(moves.head, 0L)) { (before, move) => batch(move, before.watermark) }
        .toSeq
    }
  }

  private def batch(move: (List[(String, Long)], Long), watermark: Long): Batch = move match {
    case (shifts, by) =>
      Batch(shifts.map { case (key, shift) => (key, watermark + shift) }, watermark + by)
  }

  private def log(spec: WindowSpec): Operator = spec.window match {
    case _: Session => new SessionOperator(spec, GridOperator.SmallBundles)
    case _ => new GridOperator(spec, GridOperator.SmallBundles)
  }

  /** Rows whose own session has ended by the watermark that they meet. */
  private def lateRows(window: Window, stream: Seq[Batch]): Long = window match {
    case Session(gap, _, closed, _, _, _) =>
      val shift = if (closed == Closed.Right) 1L else 0L
      val met = Long.MinValue +: stream.map(_.watermark)
      stream
        .zip(met)
        .map { case (batch, met) =>
          batch.rows.count(_._2 + gap <= met - (if (met == Long.MinValue) 0L else shift)).toLong
        }
        .sum
    case _ => 0L
  }

  /** The results and the rows of side outputs, without order. */
  private def played(operator: Operator, stream: Seq[Batch]): (Seq[Result], Seq[Any]) = {
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
    val results = outputs.collect { case (i, fired: Fired) =>
      (i, fired.key.value, Option(fired.window), fired.values.map(_.value).sortBy(_.toString))
    }
    assertEquals(operator.counts(RowCounts.WindowsFired), results.length.toLong)
    val side = outputs.collect { case (i, side: SideRow) => (i, side, None) } ++
      RowCounts.all.map(count => (count.index, count.name, operator.counts(count)))
    (results.sortBy(_.toString), side.sortBy(_.toString))
  }
}
