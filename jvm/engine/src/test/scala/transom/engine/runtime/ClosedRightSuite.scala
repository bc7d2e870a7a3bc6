package transom.engine.runtime

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json
import transom.engine.spec._
import transom.engine.window._

/** Windows that exclude their start and include their end (Azure): (start, end]. */
class ClosedRightSuite extends ScalaCheckSuite {
  import ClosedRightSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(1000))

  property("p3: the windows of a time are those that start before it and do not end before it") {
    forAllNoShrink(grids, Gen.choose(-300L, 300L)) { (grid, time) =>
      val right = closedRight(grid)
      val found = right.grid.windowsOf(right.convention.timeIn(time))
      assertEquals(found.sortBy(bounds), holding(grid, time), s"$right, $time")
    }
  }

  property("p3: with an offset of one microsecond less, (s, e] holds the rows of [s, e)") {
    forAllNoShrink(grids, streams) { (grid, stream) =>
      val moved = closedRight(withOffset(grid, grid.offsetUs - 1))
      operators(grid).zip(operators(moved)).foreach { case (left, right) =>
        val (fired, late) = played(left, stream)
        val shown = s"$grid, $stream, ${left.getClass}"
        val (firedMoved, lateMoved) = played(right, stream)
        assertEquals(firedMoved.map(_.movedBy(1)), fired, shown)
        assertEquals(lateMoved, late, shown)
      }
    }
  }

  property("p8: a window fires once the watermark is past its end, with the rows of its end") {
    forAllNoShrink(grids, streams) { (grid, stream) =>
      val right = closedRight(grid)
      val expected = modelled(grid, stream)
      operators(right).foreach { operator =>
        assertEquals(played(operator, stream)._1, expected, s"$right, $stream")
      }
    }
  }

  property("p8: sessions, snapshots and rolling windows fire by a watermark past their end") {
    forAllNoShrink(others, streams) { (window, stream) =>
      val operator = window match {
        case _: Session => new KeyedRunner(Specs.of(window))
        case _ => new SweepRunner(Specs.of(window))
      }
      val watermarks = Long.MinValue +: stream.map(_.watermark) :+ Long.MaxValue
      val (fired, _) = played(operator, stream, lengthOf(window))
      assert(fired.nonEmpty || stream.length == 1, s"$window, $stream")
      fired.foreach { result =>
        val (before, reached) = (watermarks(result.batch), watermarks(result.batch + 1))
        assert(result.window.end < reached, s"$window, $stream: $result at $reached")
        assert(before <= result.window.end, s"$window, $stream: $result after $before")
      }
    }
  }

  test("generated streams have rows at the end of a window that the watermark has reached") {
    val seen = Generators.samples(1000, Gen.zip(grids, streams)).map { case (grid, stream) =>
      stream.zip(Long.MinValue +: stream.map(_.watermark)).exists { case (batch, met) =>
        batch.rows.exists { case (_, time) =>
          time == met && holding(grid, time).exists(_.end == time)
        }
      }
    }
    assert(seen.count(identity) > 100, seen.count(identity))
  }
}

private object ClosedRightSuite {
  import LayoutsSuite.Batch

  /** A result: the number of its batch, and the numbers of its rows. */
  final case class Result(batch: Int, key: String, window: TimeWindow, rows: Seq[Long]) {

    def movedBy(shift: Long): Result =
      copy(window = TimeWindow(window.start + shift, window.end + shift))
  }

  /** Streams in which each batch but the first has a row at the watermark. */
  val streams: Gen[Seq[Batch]] = LayoutsSuite.streams.map { stream =>
    stream.head +: stream.zip(stream.tail).map { case (before, batch) =>
      batch.copy(rows = batch.rows :+ ("a" -> before.watermark))
    }
  }

  val grids: Gen[GridWindow] = for {
    size <- Gen.choose(1L, 24L)
    step <- Gen.choose(1L, 24L)
    offset <- Gen.choose(-5L, 5L)
    window <- Gen.oneOf[GridWindow](
      Tumbling(size, offset % size),
      Hopping(size, step, offset % step),
      Cumulate(size * 3, size, offset % size))
  } yield window

  val others: Gen[Window] = Gen.choose(1L, 15L).flatMap { length =>
    Gen.oneOf[Window](
      Session(length, inclusive = true, Closed.Right),
      Session(length, inclusive = false, Closed.Right),
      Snapshot(Closed.Right),
      Rolling(length))
  }

  def closedRight(grid: GridWindow): GridWindow = grid match {
    case tumbling: Tumbling => tumbling.copy(closed = Closed.Right)
    case hopping: Hopping => hopping.copy(closed = Closed.Right)
    case cumulate: Cumulate => cumulate.copy(closed = Closed.Right)
    case other => other
  }

  def withOffset(grid: GridWindow, offset: Long): GridWindow = grid match {
    case tumbling: Tumbling => tumbling.copy(offsetUs = offset % tumbling.sizeUs)
    case hopping: Hopping => hopping.copy(offsetUs = offset % hopping.slideUs)
    case cumulate: Cumulate => cumulate.copy(offsetUs = offset % cumulate.sizeUs)
    case other => other
  }

  /** The windows (start, end] with a time, of all windows of a grid around 1970. */
  def holding(grid: GridWindow, time: Long): Seq[TimeWindow] = {
    val near = -450L to 450L
    val all = grid match {
      case Tumbling(size, offset, _, _, _) =>
        near.map(k => TimeWindow(k * size + offset, (k + 1) * size + offset))
      case Hopping(size, slide, offset, _, _) =>
        near.map(k => TimeWindow(k * slide + offset, k * slide + offset + size))
      case Cumulate(size, step, offset, _, _) =>
        for (k <- near; end <- step to size by step)
          yield TimeWindow(k * size + offset, k * size + offset + end)
      case other => throw new IllegalArgumentException(s"$other")
    }
    all.filter(window => window.start < time && time <= window.end).sortBy(bounds)
  }

  def bounds(window: TimeWindow): (Long, Long) = (window.end, window.start)

  /** The time from which a row is no longer in windows that a sweep finds. */
  def lengthOf(window: Window): Long = window match {
    case Rolling(size) => size
    case _ => 1L
  }

  def operators(grid: GridWindow): Seq[Operator] = {
    val spec = Specs.of(grid, lateRows = LateRows.Partly)
    Seq(
      new KeyedRunner(spec),
      new CombinedKeyedRunner(spec),
      new GridOperator(spec, GridOperator.SmallBundles))
  }

  /** A row counts in a window (start, end] unless the watermark that it met is past the end. The
    * window fires in the first batch whose watermark is past the end.
    */
  def modelled(grid: GridWindow, stream: Seq[Batch]): Seq[Result] = {
    val watermarks = stream.map(_.watermark) :+ Long.MaxValue
    val met = Long.MinValue +: watermarks
    val rows = stream.zip(met).flatMap { case (batch, met) => batch.rows.map((_, met)) }
    val counted = for {
      (((key, time), met), i) <- rows.zipWithIndex
      window <- holding(grid, time) if met <= window.end
    } yield (key, window) -> (i + 1).toLong
    sorted(counted.groupMap(_._1)(_._2).toSeq.map { case ((key, window), numbers) =>
      Result(watermarks.indexWhere(_ > window.end), key, window, numbers)
    })
  }

  /** Results, and the numbers and reasons of late rows. */
  def played(
      operator: Operator,
      stream: Seq[Batch],
      length: Long = 1L): (Seq[Result], Seq[(Long, String)]) = {
    var number = 0L
    val met = Long.MinValue +: stream.map(_.watermark)
    val outputs = (stream :+ Batch(Nil, Long.MaxValue)).zip(met).zipWithIndex.flatMap {
      case ((batch, met), i) =>
        val rows = batch.rows.map { case (key, time) =>
          number += 1
          val (name, value) = (Json.parse(ujson.write(key)), Json.parse(s"$number"))
          Row(name, value, Some(time), number, end = time + length)
        }
        operator.batch(rows, met, batch.watermark).map((i, _))
    }
    assert(operator.isEmpty, "state is left after the end of time")
    val results = outputs.collect { case (i, fired: Fired) =>
      Result(i, fired.key.string, fired.window, fired.values.map(_.long))
    }
    val late = outputs.collect { case (_, side: SideRow) => (side.row, side.reason.name) }
    (sorted(results), late.sorted)
  }

  private def sorted(results: Seq[Result]): Seq[Result] =
    results
      .map(result => result.copy(rows = result.rows.sorted))
      .sortBy(result => (result.key, bounds(result.window)))
}
