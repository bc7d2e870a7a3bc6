package transom.engine.judge

import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAllNoShrink
import org.scalacheck.Test.Parameters

import transom.engine.Generators
import transom.engine.firing.{AfterLateness, AfterWatermark, Trigger}
import transom.engine.runtime.GroupInput
import transom.engine.spec._
import transom.engine.state.MemoryState
import transom.engine.time.Watermark
import transom.engine.window.{Closed, GridWindow, Hopping, Session, Tumbling}
import transom.engine.conformance.driver.Specs

/** The watermark of windows: partitions, and the wall clock while rows are missing. */
class PartitionWatermarksSuite extends ScalaCheckSuite {
  import PartitionWatermarksSuite._

  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(Generators.cases(2000))

  property("the watermark is the minimum of the partitions that are not idle, and never falls") {
    forAllNoShrink(policies, steps) { (policy, steps) =>
      val spec = Specs.of(Tumbling(10), policy)
      assertEquals(played(policy, spec, steps), modelled(policy, steps))
    }
  }

  property("p1: no row is before the floor that the estimated arrival has reached") {
    forAllNoShrink(Gen.choose(0L, 12L), steps) { (late, steps) =>
      // A tolerance beyond all times: only the floor of the late rule moves the watermark.
      val policy = policyOf(Some(Adjust(late)), Accept(1000000L), estimates = true)
      val player = new Player(policy, Specs.of(Tumbling(10), policy))
      val last = (Row(0, 100, 100, 100) +: steps).foldLeft(Watermark.NotYet) { (floor, step) =>
        val reached = player.play(step)
        if (step.isInstanceOf[Row]) assert(player.stamp.time >= floor, s"$late, $steps")
        reached
      }
      assert(last >= 100 - late, "the floor has not moved")
    }
  }

  property("windows of a silent input close by the rule") {
    forAllNoShrink(timeouts, windows, steps) { (timeout, window, steps) =>
      val policy = policyOf()
      val spec = Specs.of(window, policy).copy(idleTimeout = Some(timeout))
      val one = steps.map {
        case row: Row => row.copy(partition = 0)
        case tick => tick
      }
      assertEquals(played(policy, spec, one), closed(timeout, window, one))
    }
  }

  test("an allowed lateness does not delay the timeout") {
    val policy = policyOf()
    val timeout = IdleTimeout(5, IdleRule.AfterWindowEnd)
    val late = Specs.of(Tumbling(10), policy, allowedLateness = 100L)
    val steps = Seq(Row(0, 3, 3, 3), Tick(14), Tick(15))
    def watermarks(trigger: Trigger) =
      played(policy, late.copy(idleTimeout = Some(timeout), trigger = trigger), steps)
    assertEquals(watermarks(AfterWatermark()), Seq(3L, 3L, 10L))
    // This trigger fires when the lateness is over, so the watermark moves further.
    assertEquals(watermarks(AfterLateness), Seq(3L, 3L, 110L))
  }

  test("the watermark moves past the end of windows that include their end") {
    val policy = policyOf()
    val spec = Specs
      .of(Tumbling(10, closed = Closed.Right), policy)
      .copy(idleTimeout = Some(IdleTimeout(5, IdleRule.AfterWindowEnd)))
    // A row at 10 is in the window that ends at 10.
    assertEquals(played(policy, spec, Seq(Row(0, 10, 10, 10), Tick(15))), Seq(10L, 11L))
  }

  test("a silent input moves the watermark of sessions up to the end of the last one") {
    val policy = policyOf()
    val spec = Specs
      .of(Session(10), policy)
      .copy(idleTimeout = Some(IdleTimeout(5, IdleRule.AfterWindowEnd)))
    val steps = Seq(Row(0, 3, 3, 3), Tick(7), Tick(9), Tick(17), Tick(30), Tick(50))
    assertEquals(played(policy, spec, steps), Seq(3L, 3L, 4L, 12L, 13L, 13L))
  }

  test("a window beyond all others, of a date in the future, does not close by its end") {
    val policy = policyOf()
    val spec = Specs
      .of(Tumbling(10), policy)
      .copy(idleTimeout = Some(IdleTimeout(5, IdleRule.GreaterOf)))
    val steps = Seq(Row(0, 1000, 3, 3), Tick(500), Tick(1009), Tick(1010))
    assertEquals(played(policy, spec, steps), Seq(1000L, 1000L, 1000L, 1010L))
  }

  test("the estimated arrival moves the watermark, and later rows count as arriving then") {
    val policy = policyOf(late = Some(Adjust(5)), estimates = true)
    val spec = Specs.of(Tumbling(10), policy)
    val player = new Player(policy, spec)
    assertEquals(player.play(Row(0, 100, 100, 100)), 100L)
    assertEquals(player.play(Tick(104)), 100L)
    assertEquals(player.play(Tick(107)), 102L)
    // The broker's clock is behind ours. The row must not be before the watermark.
    assertEquals(player.play(Row(0, 101, 105, 108)), 102L)
    assertEquals(player.stamp.time, 102L)
  }

  test("a declared partition counts before its first row, until it is idle") {
    val policy = policyOf(partitions = Seq("0", "1"), idle = Some(10))
    val player = new Player(policy, Specs.of(Tumbling(10), policy))
    assertEquals(player.play(Row(0, 50, 50, 50)), Watermark.NotYet)
    assertEquals(player.play(Tick(59)), Watermark.NotYet)
    assertEquals(player.play(Row(0, 60, 60, 60)), Watermark.NotYet)
    assertEquals(player.play(Tick(60)), 60L)
    // The partition comes back: the watermark waits for it, and does not fall.
    assertEquals(player.play(Row(1, 55, 61, 61)), 60L)
    assertEquals(player.play(Row(0, 70, 62, 62)), 60L)
    assertEquals(player.play(Row(1, 65, 63, 63)), 65L)
  }
}

private object PartitionWatermarksSuite {

  /** A batch: a row, or a tick of the wall clock. */
  sealed trait Step { def clock: Long }
  final case class Row(partition: Int, time: Long, arrival: Long, clock: Long) extends Step
  final case class Tick(clock: Long) extends Step

  def policyOf(
      late: Option[TimeRule] = None,
      outOfOrder: TimeRule = Accept(0),
      partitions: Seq[String] = Nil,
      idle: Option[Long] = None,
      estimates: Boolean = false): TimePolicy =
    TimePolicy(
      Some(0),
      Some(1),
      Some(2),
      partitions,
      Nil,
      None,
      late,
      outOfOrder,
      Periodic(Some(1), None),
      idle,
      estimates)

  val policies: Gen[TimePolicy] = for {
    late <- Gen.option(Gen.choose(0L, 12L).map(Adjust(_)))
    bound <- Gen.choose(0L, 12L)
    rule <- Gen.oneOf[TimeRule](Accept(bound), Adjust(bound), Drop(bound))
    partitions <- Gen.oneOf(Nil, Seq("0", "1", "2", "3"))
    idle <- Gen.option(Gen.choose(1L, 30L))
    estimates <- Gen.oneOf(true, false)
  } yield policyOf(late, rule, partitions, idle, estimates && late.isDefined)

  val timeouts: Gen[IdleTimeout] = for {
    after <- Gen.choose(1L, 20L)
    rule <- Gen.oneOf(IdleRule.AfterWindowEnd, IdleRule.GreaterOf, IdleRule.LastRow)
  } yield IdleTimeout(after, rule)

  val windows: Gen[GridWindow] = for {
    size <- Gen.choose(1L, 24L)
    slide <- Gen.choose(1L, 24L)
    window <- Gen.oneOf[GridWindow](Tumbling(size), Hopping(size, slide, 0L))
  } yield window

  /** Rows of four partitions and ticks, with a wall clock that goes on. */
  val steps: Gen[Seq[Step]] = for {
    length <- Gen.choose(1, 50)
    moves <- Gen.listOfN(
      length,
      Gen.zip(
        Gen.oneOf(true, false),
        Gen.choose(0, 3),
        Gen.choose(-20L, 12L),
        Gen.choose(-2L, 0L),
        Gen.choose(0L, 8L)))
  } yield {
    val clocks = moves.scanLeft(100L)((clock, move) => clock + move._5).tail
    moves.zip(clocks).map {
      case ((true, partition, ahead, delay, _), clock) =>
        Row(partition, clock + ahead, clock + delay, clock)
      case (_, clock) => Tick(clock)
    }
  }

  /** Plays steps one by one. Each step has an instance of its own over the same state. */
  final class Player(policy: TimePolicy, spec: WindowSpec) {
    private val store = new SourceStore(new MemoryState)
    private val logic = new TimePolicyLogic(policy)
    val stamp = new Judgement

    def play(step: Step): Long = {
      val declared = policy.partitions.map(_.getBytes)
      val input = new PartitionWatermarks(policy, logic, declared, spec, store, step.clock)
      step match {
        case Row(partition, time, arrival, _) =>
          val bytes = partition.toString.getBytes
          val row = new GroupInput.Row
          row.key.set(bytes, 0, bytes.length)
          row.context.time = time
          row.context.arrival = arrival
          input.judge(input.sourceOf(row.key), row, stamp)
        case _: Tick => input.tick(): Unit
      }
      input.save()
      input.watermark
    }
  }

  def played(policy: TimePolicy, spec: WindowSpec, steps: Seq[Step]): Seq[Long] = {
    val player = new Player(policy, spec)
    steps.map(player.play)
  }

  /** The watermark after each step, from the definition: each time over all partitions. */
  def modelled(policy: TimePolicy, steps: Seq[Step]): Seq[Long] = {
    final class Partition(var seen: Long) {
      var latest: Option[Long] = None
      var arrival: Option[Long] = None
      var isIdle = false
    }
    val tolerance = policy.outOfOrder.beyondUs
    val late = policy.late.map(_.beyondUs)
    val known = scala.collection.mutable.Map.empty[Int, Partition]
    // The latest arrival of the last row, the wall clock then, and the latest arrival by estimate.
    var last: Option[(Long, Long)] = None
    var estimate = Watermark.NotYet
    var watermark = Watermark.NotYet
    def of(p: Partition): Long = {
      val byTime = p.latest.fold(Watermark.NotYet)(_ - tolerance)
      val floor = for (beyond <- late; arrival <- p.arrival) yield arrival - beyond
      math.max(byTime, floor.getOrElse(Watermark.NotYet))
    }
    steps.map { step =>
      policy.partitions.foreach(id => known.getOrElseUpdate(id.toInt, new Partition(step.clock)))
      step match {
        case Row(id, time, arrived, clock) =>
          val p = known.getOrElseUpdate(id, new Partition(clock))
          val met = math.max(
            of(p),
            if (policy.estimateArrival && estimate != Watermark.NotYet) estimate - late.get
            else Watermark.NotYet)
          val arrival = (p.arrival.toSeq :+ arrived).max max
            (if (policy.estimateArrival) estimate else arrived)
          p.arrival = Some(arrival)
          p.seen = clock
          p.isIdle = false
          estimate = math.max(estimate, arrival)
          last = Some((estimate, clock))
          val onTime = late.fold(time)(beyond => math.max(time, arrival - beyond))
          val inForce = policy.outOfOrder match {
            case _: Drop if onTime < met => None
            case _: Adjust => Some(math.max(onTime, met))
            case _ => Some(onTime)
          }
          inForce.foreach(time => p.latest = Some((p.latest.toSeq :+ time).max))
        case Tick(clock) =>
          policy.idlePartitionUs.foreach(silence =>
            known.values.filter(clock - _.seen >= silence).foreach(_.isIdle = true))
          if (policy.estimateArrival) last.foreach { case (arrival, then) =>
            estimate = math.max(estimate, arrival + clock - then)
          }
      }
      val active = known.values.filterNot(_.isIdle).map(of)
      val floor =
        if (policy.estimateArrival && estimate != Watermark.NotYet) estimate - late.get
        else Watermark.NotYet
      watermark = Seq(watermark, active.minOption.getOrElse(watermark), floor).max
      watermark
    }
  }

  /** The watermark after each step of one partition, with windows that close when it is silent.
    */
  def closed(timeout: IdleTimeout, window: GridWindow, steps: Seq[Step]): Seq[Long] = {
    val grid = window.grid
    var lastRow: Option[Long] = None
    var ends = Set.empty[Long]
    var watermark = Watermark.NotYet
    steps.map { step =>
      step match {
        case Row(_, time, _, clock) =>
          lastRow = Some(clock)
          ends ++= grid.windowsOf(time).map(grid.endOf)
          watermark = math.max(watermark, time)
        case Tick(clock) =>
          def closesAt(end: Long, last: Long): Long = timeout.rule match {
            case IdleRule.AfterWindowEnd => math.max(last, end) + timeout.afterUs
            case IdleRule.GreaterOf => math.max(end, last + timeout.afterUs)
            case IdleRule.LastRow => last + timeout.afterUs
          }
          val due =
            for (last <- lastRow.toSeq; end <- ends if closesAt(end, last) <= clock) yield end
          watermark = (watermark +: due).max
      }
      watermark
    }
  }
}
