package transom.engine.judge

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.firing.AfterLateness
import transom.engine.keyed.contract.Timing
import transom.engine.spec._
import transom.engine.window.{Closed, Global, GridWindow, Hopping, Session, TimeWindow, Tumbling, Window}
import transom.engine.conformance.driver._
import transom.engine.conformance.vector.Json

/** Windows that fire once, when late rows come no more, compared with a model of the rule. */
class AfterLatenessSuite extends ScalaCheckSuite {
  import AfterLatenessSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(3000))

  property("in event time each window fires once, with the rows that met it open") {
    forAllNoShrink(shapes, latenesses, streams, delays) { (shape, lateness, batches, delay) =>
      val arrived = metByBatches(batches, delay)
      val spec = specOf(shape, EventTime(0), lateness)
      val expected = modelled(shape, lateness, arrived.map(lateLast(shape, lateness, _)))
      operators(spec).foreach { operator =>
        assertEquals(played(operator, arrived), expected, s"$shape, $lateness, $arrived")
      }
    }
  }

  property("behind a time stage each window fires once, with the rows that met it open") {
    forAllNoShrink(shapes, latenesses, streams, delays) { (shape, lateness, batches, delay) =>
      val arrived = metOneByOne(batches, delay)
      val policy = TimeStageSuite.policy(None, Nil).copy(outOfOrder = Accept(delay))
      val spec = specOf(shape, policy, lateness)
      val staged = stamped(policy, arrived)
      assertEquals(staged, arrived)
      val expected = modelled(shape, lateness, arrived)
      assertEquals(
        played(new KeyedRunner(spec), staged),
        expected,
        s"$shape, $lateness, $arrived")
    }
  }

  test("generated streams have rows after the end of a window that count, and rows that do not") {
    val seen = Generators.samples(500, Gen.zip(shapes, latenesses, streams, delays)).map {
      case (shape, lateness, batches, delay) =>
        val arrived = metOneByOne(batches, delay)
        val late = modelled(shape, lateness, arrived)._2
        val lateWithout = modelled(shape, 0L, arrived)._2
        (late.nonEmpty, late.size < lateWithout.size)
    }
    assert(seen.count { case (missed, _) => missed } > 50, seen)
    assert(seen.count { case (_, saved) => saved } > 50, seen)
  }

  test("the result is the last of its window, and late if there is a lateness") {
    Seq(0L -> Timing.OnTime, 5L -> Timing.Late).foreach { case (lateness, timing) =>
      val spec = specOf(Hops(10, 10, Closed.Left), EventTime(0), lateness)
      val operator = new KeyedRunner(spec.copy(pane = true))
      operator.process(Seq(rowOf(Arrived(1, 0, 3, Long.MinValue))), Long.MinValue)
      assertEquals(operator.fire(10 + lateness - 1), Nil)
      val panes = operator.fire(10 + lateness).flatMap(_.pane)
      assertEquals(
        panes.map(pane => (pane.index, pane.timing, pane.isLast)),
        Seq((0, timing, true)))
    }
  }

  test("a window without end fires once, when the input ends") {
    val spec = Specs.of(Global).copy(trigger = AfterLateness)
    val operator = new KeyedRunner(spec)
    operator.process(Seq(rowOf(Arrived(1, 0, 3, Long.MinValue))), Long.MinValue)
    assertEquals(operator.fire(1000), Nil)
    assertEquals(operator.fire(Long.MaxValue).map(_.values.map(_.long)), Seq(Seq(1L)))
    assert(operator.isEmpty)
  }
}

private object AfterLatenessSuite {

  /** A window with the rule that places rows in it, written once more for the model. */
  sealed trait Shape {
    def window: Window
    def closed: Closed

    /** The end of a window that includes its end is reached once the watermark is past it. */
    def isOver(window: TimeWindow, lateness: Long, watermark: Long): Boolean = {
      val last = window.end + lateness
      if (closed == Closed.Right) last < watermark else last <= watermark
    }
  }

  final case class Hops(size: Long, slide: Long, closed: Closed) extends Shape {
    override def window: Window = Hopping(size, slide, 0L, closed = closed)

    def of(time: Long): Seq[TimeWindow] = {
      // (s, e] has t where [s, e) has t - 1.
      val at = if (closed == Closed.Right) time - 1 else time
      (Math.floorDiv(at - size, slide) + 1 to Math.floorDiv(at, slide))
        .map(k => TimeWindow(k * slide, k * slide + size))
    }
  }

  final case class Sessions(gap: Long, inclusive: Boolean) extends Shape {
    override def window: Window = Session(gap, inclusive)
    override def closed: Closed = Closed.Left

    def own(time: Long): TimeWindow = TimeWindow(time, time + gap)

    def touch(one: TimeWindow, other: TimeWindow): Boolean = {
      val between = math.max(one.start, other.start) - math.min(one.end, other.end)
      between < 0 || inclusive && between == 0
    }
  }

  /** A row, and the watermark that it met. */
  final case class Arrived(number: Long, key: Int, time: Long, met: Long)

  /** Rows, and the watermark after them. */
  final case class Reached(rows: Seq[Arrived], watermark: Long)

  /** Number of the batch, key, window, numbers of the rows. */
  private type Result = (Int, Int, TimeWindow, Seq[Long])

  /** The windows that each row missed, by its number. */
  private type Missed = Map[Long, Seq[TimeWindow]]

  val shapes: Gen[Shape] = for {
    size <- Gen.choose(1L, 24L)
    slide <- Gen.choose(1L, 24L)
    closed <- Gen.oneOf(Closed.Left, Closed.Right)
    inclusive <- Gen.oneOf(true, false)
    shape <- Gen.frequency[Shape](
      2 -> Hops(size, slide, closed),
      1 -> Hops(size, size, closed),
      1 -> Sessions(math.min(size, 9), inclusive))
  } yield shape

  val latenesses: Gen[Long] = Gen.frequency(1 -> Gen.const(0L), 3 -> Gen.choose(1L, 20L))

  val delays: Gen[Long] = Gen.oneOf(0L, 1L, 6L)

  /** Batches of keys and times. Times rise, with some disorder. */
  val streams: Gen[Seq[Seq[(Int, Long)]]] = for {
    count <- Gen.choose(1, 40)
    steps <- Gen.listOfN(
      count,
      Gen.zip(Gen.choose(0, 1), Gen.choose(0L, 6L), Gen.choose(-30L, 5L), Gen.oneOf(true, false)))
  } yield {
    val clock = steps.scanLeft(100L) { case (before, (_, by, _, _)) => before + by }.tail
    steps.zip(clock).foldLeft(Seq(Seq.empty[(Int, Long)])) {
      case (batches, ((key, _, shift, cut), at)) =>
        val row = (key, at + shift)
        if (cut) batches :+ Seq(row) else batches.init :+ (batches.last :+ row)
    }
  }

  /** Each row of a batch meets the watermark of the batch before, and a batch fires by the rows
    * of the batches before it (semantics of Spark's watermark).
    */
  def metByBatches(batches: Seq[Seq[(Int, Long)]], delay: Long): Seq[Reached] = {
    val largest =
      batches.scanLeft(Long.MinValue)((before, rows) => rows.map(_._2).foldLeft(before)(_ max _))
    val watermarks = largest.map(behind(_, delay))
    val met = Long.MinValue +: watermarks
    numbered(batches).zipWithIndex.map { case (rows, i) =>
      Reached(rows.map(_.copy(met = met(i))), watermarks(i))
    }
  }

  /** Each row meets the watermark that the row before it has moved. */
  def metOneByOne(batches: Seq[Seq[(Int, Long)]], delay: Long): Seq[Reached] = {
    var largest = Long.MinValue
    numbered(batches).map { rows =>
      val arrived = rows.map { row =>
        val met = behind(largest, delay)
        largest = math.max(largest, row.time)
        row.copy(met = met)
      }
      Reached(arrived, behind(largest, delay))
    }
  }

  private def behind(largest: Long, delay: Long): Long =
    if (largest == Long.MinValue) largest else largest - delay

  private def numbered(batches: Seq[Seq[(Int, Long)]]): Seq[Seq[Arrived]] = {
    var number = 0L
    batches.map(_.map { case (key, time) =>
      number += 1
      Arrived(number, key, time, Long.MinValue)
    })
  }

  /** The same rows with the watermarks of the time stage. */
  def stamped(policy: TimePolicy, arrived: Seq[Reached]): Seq[Reached] = {
    val runner = new TimeStageSuite.Runner(policy, Some(Specs.of(Tumbling(1), policy)))
    arrived.map { batch =>
      val inputs = batch.rows.map(row => TimeStageSuite.Input(0, row.time, row.time))
      val rows = batch.rows.zip(runner.batch(inputs)).map { case (row, stamp) =>
        row.copy(met = stamp.met)
      }
      Reached(rows, runner.watermark)
    }
  }

  /** The order in which a batch in event time places rows: rows whose own session is over come
    * last, the newest of them first (semantics.md, Sessions). Behind a time stage rows keep their
    * order.
    */
  def lateLast(shape: Shape, lateness: Long, batch: Reached): Reached = shape match {
    case sessions: Sessions =>
      val (late, others) = batch.rows.partition { row =>
        sessions.isOver(sessions.own(row.time), lateness, row.met)
      }
      Reached(others ++ late.sortBy(-_.time), batch.watermark)
    case _ => batch
  }

  def specOf(shape: Shape, time: Time, lateness: Long): WindowSpec =
    Specs
      .of(shape.window, time, allowedLateness = lateness, lateRows = LateRows.Partly)
      .copy(trigger = AfterLateness)

  def operators(spec: WindowSpec): Seq[Operator] =
    Seq(new KeyedRunner(spec)) ++
      Option.when(spec.window.isInstanceOf[GridWindow])(new CombinedKeyedRunner(spec))

  def rowOf(row: Arrived): Row =
    Row(Json.parse(s"${row.key}"), Json.parse(s"${row.number}"), Some(row.time), row.number)

  /** A row counts in a window if W has not reached its end plus the lateness when the row comes.
    * The window fires when W has reached this time. Rows are placed in their order.
    */
  def modelled(shape: Shape, lateness: Long, arrived: Seq[Reached]): (Seq[Result], Missed) = {
    val open = mutable.Map.empty[(Int, TimeWindow), Vector[Long]]
    val fired = ArrayBuffer.empty[Result]
    val missed = mutable.Map.empty[Long, Seq[TimeWindow]]
    def isOver(window: TimeWindow, watermark: Long) = shape.isOver(window, lateness, watermark)
    def fire(watermark: Long, batch: Int): Unit =
      open.keys.toSeq.filter { case (_, window) => isOver(window, watermark) }.foreach {
        case (key, window) => fired += ((batch, key, window, open.remove((key, window)).get))
      }
    def place(row: Arrived, window: TimeWindow): Unit =
      open((row.key, window)) = open.getOrElse((row.key, window), Vector.empty) :+ row.number
    def add(row: Arrived): Unit = shape match {
      case hops: Hops =>
        val (late, kept) = hops.of(row.time).partition(isOver(_, row.met))
        kept.foreach(place(row, _))
        if (late.nonEmpty) missed(row.number) = late
      case sessions: Sessions =>
        val alone = sessions.own(row.time)
        val touched = open.keys.toSeq.filter { case (key, window) =>
          key == row.key && sessions.touch(alone, window)
        }
        if (touched.isEmpty && isOver(alone, row.met)) missed(row.number) = Seq(alone)
        else {
          val whole = touched.map(_._2).foldLeft(alone)(_ union _)
          open((row.key, whole)) = touched.flatMap(open.remove).flatten.toVector :+ row.number
        }
    }
    (arrived :+ Reached(Nil, Long.MaxValue)).zipWithIndex.foreach { case (batch, i) =>
      batch.rows.foreach { row =>
        fire(row.met, i)
        add(row)
      }
      fire(batch.watermark, i)
    }
    (fired.map(sorted).toSeq.sortBy(_.toString), missed.toMap)
  }

  def played(operator: Operator, arrived: Seq[Reached]): (Seq[Result], Missed) = {
    val before = Long.MinValue +: arrived.map(_.watermark)
    val outputs = (arrived :+ Reached(Nil, Long.MaxValue)).zipWithIndex.flatMap {
      case (batch, i) =>
        val rows = batch.rows.map(row => rowOf(row).copy(met = Some(row.met)))
        operator.batch(rows, before(i), batch.watermark).map((i, _))
    }
    assert(operator.isEmpty, "state is left after the end of time")
    val fired = outputs.collect { case (i, Fired(key, window, values, _, _, _, _)) =>
      sorted((i, key.long.toInt, window, values.map(_.long)))
    }
    val missed = outputs.collect { case (_, side: SideRow) => side.row -> side.missed }
    (fired.sortBy(_.toString), missed.toMap)
  }

  private def sorted(result: Result): Result = result.copy(_4 = result._4.sorted)
}
