package transom.engine.judge

import munit.FunSuite

import transom.engine.runtime._
import transom.engine.spec._
import transom.engine.state.{ByteRange, MemoryState}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.Tumbling
import transom.engine.conformance.driver.Specs

/** The metrics of a time stage. */
class StageMetricsSuite extends FunSuite {
  import StageMetricsSuite._

  test("a tick closes windows if the idle timeout moves the watermark, and no other tick does") {
    val policy = TimePolicy(
      timeColumn = Some(0),
      arrivalColumn = Some(1),
      partitionColumn = None,
      partitions = Nil,
      overColumns = Nil,
      early = None,
      late = Some(Adjust(20)),
      outOfOrder = Accept(0),
      advance = Periodic(Some(1), None),
      idlePartitionUs = None,
      estimateArrival = true)
    val windows = Specs
      .of(Tumbling(10), policy)
      .copy(idleTimeout = Some(IdleTimeout(5, IdleRule.AfterWindowEnd)))
    val stage = new Stage(policy, windows)
    assertEquals(stage.batch(3, row("", 3, 3)), (0L, Some(Gauges(Some(3L)))))
    assertEquals(stage.batch(14, GroupInput.Tick), (0L, Some(Gauges(Some(3L)))))
    assertEquals(stage.batch(15, GroupInput.Tick), (1L, Some(Gauges(Some(10L)))))
    // The estimated arrival moves the watermark, and no window is open any more.
    assertEquals(stage.batch(40, GroupInput.Tick), (0L, Some(Gauges(Some(20L)))))
    assertEquals(stage.sent, Seq((3L, 3L), (10L, 3L), (20L, 20L)))
  }

  test("a tick tells the watermark of the idle timeout from that of the estimated arrival") {
    val policy = TimeStageSuite
      .policy(None, Nil)
      .copy(late = Some(Adjust(20)), outOfOrder = Accept(0), estimateArrival = true)
    val windows = Specs
      .of(Tumbling(10), policy)
      .copy(idleTimeout = Some(IdleTimeout(5, IdleRule.AfterWindowEnd)))
    val stage = new Stage(policy, windows)
    stage.batch(3, row("", 3, 3)): Unit
    stage.batch(3, row("", 13, 3)): Unit
    stage.batch(33, GroupInput.Tick): Unit
    // The arrival of a next row is estimated at 33, and the idle timeout closes [10, 20).
    assertEquals(stage.sent.last, (20L, 13L))
  }

  test("each partition has a watermark of its own, and may be idle") {
    val policy = TimePolicy(
      timeColumn = Some(0),
      arrivalColumn = Some(1),
      partitionColumn = Some(2),
      partitions = Seq("b"),
      overColumns = Nil,
      early = None,
      late = None,
      outOfOrder = Accept(2),
      advance = Periodic(Some(1), None),
      idlePartitionUs = Some(10),
      estimateArrival = false)
    val stage = new Stage(policy, Specs.of(Tumbling(10), policy))
    def gauges(clock: Long, input: GroupInput) = {
      val Gauges(watermark, open, partitions, _, _, _) = stage.batch(clock, input)._2.get
      assertEquals(open, None)
      (watermark, partitions.map(p => (new String(p.source), (p.watermark, p.isIdle))).toMap)
    }
    val waiting = (Watermark.NotYet, false)
    assertEquals(gauges(7, row("a", 7, 7)), (None, Map("a" -> ((5L, false)), "b" -> waiting)))
    assertEquals(
      gauges(17, GroupInput.Tick),
      (None, Map("a" -> ((5L, true)), "b" -> ((Watermark.NotYet, true)))))
    assertEquals(
      gauges(18, row("a", 9, 9)),
      (Some(7L), Map("a" -> ((7L, false)), "b" -> ((Watermark.NotYet, true)))))
  }

  test("the partitions that hold the watermark back most are listed, and all are counted") {
    val policy = TimeStageSuite
      .policy(None, Nil)
      .copy(partitionColumn = Some(2), idlePartitionUs = Some(10), outOfOrder = Accept(0))
    val stage = new Stage(policy, Specs.of(Tumbling(10), policy))
    val last = 2 * PartitionGauge.Most
    // The first partition has the lowest watermark, and is idle.
    stage.batch(0, row("0", 0, 0)): Unit
    (1 until last).foreach(n => stage.batch(10, row(n.toString, last - n, last - n)): Unit)
    val gauges = stage.batch(15, GroupInput.Tick)._2.get
    assertEquals(gauges.partitionCount, last)
    val listed = gauges.partitions.map(partition => new String(partition.source).toInt)
    assertEquals(listed, (PartitionGauge.Most until last).reverse)
    // The page on sizing names this number.
    assertEquals(stage.stateSizes, Set(38))
  }

  test("a row is overtaken by rows of other partitions in earlier batches") {
    val policy = TimeStageSuite.policy(None, Nil).copy(partitionColumn = Some(2))
    val stage = new Stage(policy, Specs.of(Tumbling(10), policy))
    val rows = Seq(row("a", 1, 9), row("b", 1, 8), row("b", 1, 9), row("a", 1, 7))
    rows.foreach(row => stage.batch(10, row): Unit)
    // The last row counts as arriving with the row before it in its partition.
    assertEquals(stage.overtaken, Seq(0L, 1L, 0L, 0L))
  }
}

private object StageMetricsSuite {

  def row(partition: String, time: Long, arrival: Long): GroupInput.Row = {
    val row = new GroupInput.Row
    val bytes = partition.getBytes
    row.key.set(bytes, 0, bytes.length)
    row.context.time = time
    row.context.arrival = arrival
    row
  }

  /** A stage with state in memory. */
  final class Stage(policy: TimePolicy, windows: WindowSpec) {
    private val store = new SourceStore(new MemoryState)
    private val logic = new TimePolicyLogic(policy)
    private val declared = policy.partitions.map(_.getBytes)
    private val stage =
      new TimeStage(
        (store, now) => new PartitionWatermarks(policy, logic, declared, windows, store, now),
        Rows)

    /** The watermarks that the stage has sent, each with the watermark without the idle timeout.
      */
    var sent = Seq.empty[(Long, Long)]

    /** The rows of each batch that a row of an earlier batch has overtaken. */
    var overtaken = Seq.empty[Long]

    /** The bytes that partitions have in the state, without their ids. */
    def stateSizes: Set[Int] = store.sources.entries.map(_._2.length).toSet

    /** Runs a batch of one input. Returns the idle closes and the gauges. */
    def batch(clock: Long, input: GroupInput): (Long, Option[Gauges]) = {
      val operator = stage.open(0, store, clock)
      operator.process(Iterator.single(input)).foreach(identity)
      overtaken :+= operator.counts(RowCounts.Overtaken)
      (operator.counts(RowCounts.IdleCloses), operator.gauges)
    }

    private object Rows extends JudgedRows[Unit] {
      override def judged(row: ByteRange, judgement: Judgement): Unit = ()
      override def advance(to: Advance): Unit =
        if (to.after != Watermark.NotYet) sent :+= ((to.after, to.byRows))
    }
  }
}
