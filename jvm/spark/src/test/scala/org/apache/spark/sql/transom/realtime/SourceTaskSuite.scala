package org.apache.spark.sql.transom.realtime

import scala.collection.mutable.ArrayBuffer

import munit.ScalaCheckSuite
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.{TestPlans, TestSession, TestSpecs}
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.exchange.ExchangeDecoder
import org.apache.spark.sql.transom.planned._
import org.apache.spark.sql.types.LongType
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.firing.{AfterCount, AfterWatermark, Every, TriggerClock}
import transom.engine.runtime.{GroupInput, RowCounts}
import transom.engine.spec.{Accept, Periodic, TimePolicy, WindowSpec}
import transom.engine.state.{ByteRange, Cursor, KeyGroups}
import transom.engine.time.Watermark
import transom.engine.window.Session

/** The messages of a task that reads a source. */
class SourceTaskSuite extends ScalaCheckSuite {
  import SourceTaskSuite._

  // A task derives its limits from the environment of Spark.
  override def beforeAll(): Unit = TestSession.spark: Unit

  // Spark compiles projections for each case.
  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(30)

  property("each row leaves once, in the order of its source, with the watermark it has met") {
    forAll(specs, times, limits) { (spec, times, limit) =>
      val sent = messages(spec, times, limit).flatMap(_.rows)
      assertEquals(sent.map(_.number).sorted, times.indices.toList)
      sent.groupBy(_.to).foreach { case (to, rows) =>
        assertEquals(rows.map(_.number), rows.map(_.number).sorted)
        rows.foreach(row => assertEquals(receiverOf(row.number), to))
      }
      sent.foreach { row =>
        val before = times.take(row.number)
        assertEquals(row.watermark, before.maxOption.fold(Watermark.NotYet)(_ - Delay))
      }
    }
  }

  property(
    "rows leave before a message about a watermark that they have not met, and at the end") {
    forAll(specs, times, limits) { (spec, times, limit) =>
      var sent = 0
      messages(spec, times, limit).foreach { message =>
        if (message.kind == SourceMessage.Advanced || message.kind == SourceMessage.End)
          assertEquals(sent, message.read)
        sent += message.rows.length
      }
      assertEquals(sent, times.length)
    }
  }

  property("a row leaves at once if it may make windows fire, or the wall clock does") {
    val early = Gen.oneOf(AfterCount(2), Every(Hour), Every(Hour, TriggerClock.Processing))
    forAll(early, times, limits) { (early, times, limit) =>
      val spec = TestSpecs.hours.copy(trigger = AfterWatermark(early = Some(early)))
      messages(spec, times, limit).foreach { message =>
        if (message.kind == SourceMessage.Rows)
          assertEquals(message.rows.map(_.number), List(message.read - 1))
      }
    }
  }

  property("only rows that may be late leave one by one, if Spark's watermark is known") {
    forAll(times, limits, Gen.choose(0L, 4 * Hour)) { (times, limit, reached) =>
      val sent = messages(TestSpecs.hours, times, limit, Some(reached))
      val onTime = times.indices.filter { number =>
        val watermark =
          times.take(number).maxOption.fold(reached)(latest => math.max(reached, latest - Delay))
        endOf(times(number)) > watermark
      }
      assertEquals(sent.flatMap(_.combined).sorted, onTime.toList)
      assertEquals(sent.flatMap(_.rows).map(_.number).sorted, times.indices.diff(onTime).toList)
      assertEquals(sent.map(_.counted).sum, onTime.length.toLong)
      sent.foreach { message =>
        message.combined.foreach(number => assertEquals(receiverOf(number), message.to))
      }
    }
  }

  property("combined rows leave before the watermark passes the end of their windows") {
    forAll(times, limits) { (times, limit) =>
      var sent = Set.empty[Int]
      messages(TestSpecs.hours, times, limit, reached = Some(0L)).foreach { message =>
        sent ++= message.combined ++ message.rows.map(_.number)
        val reached = times.take(message.read).maxOption.fold(Watermark.NotYet)(_ - Delay)
        val ended = times.take(message.read).indices.filter(i => endOf(times(i)) <= reached)
        if (message.kind == SourceMessage.Advanced)
          assertEquals(ended.toSet -- sent, Set.empty[Int])
        // The rows of windows that stay open are combined until then.
        if (message.kind == SourceMessage.Combined && message.read < times.length)
          assertEquals(message.combined.toSet -- ended, Set.empty[Int])
      }
    }
  }

  test("rows of a window share messages of a limited size") {
    val times = List.fill(1000)(Delay) :+ (Hour + Delay)
    val ofRows = messages(TestSpecs.hours, times, 4096).filter(_.kind == SourceMessage.Rows)
    // A row that comes after a while takes all rows with it.
    assert(ofRows.length < times.length / 2, ofRows.length)
    ofRows.foreach(message => assert(message.bytes < 4096 + 64, message.bytes))
  }
}

private object SourceTaskSuite {
  final val Hour = 3600000000L
  final val Delay = 1000000L
  private final val Partitions = 2
  private val key = AttributeReference("key", LongType)()
  private val toBytes = UnsafeProjection.create(Seq(key), Seq(key))

  /** A row of a message.
    *
    * @param number
    *   its number in the source, which is also its key
    * @param to
    *   the task of the operator that gets it
    */
  final case class Sent(number: Int, to: Int, watermark: Long)

  /** A message.
    *
    * @param to
    *   the task of the operator that gets it
    * @param read
    *   how many rows of the source the task had read
    * @param combined
    *   the numbers of the rows that have crossed the map side
    * @param counted
    *   how many rows the map side has counted
    */
  final case class Message(
      kind: Int,
      to: Int,
      read: Int,
      bytes: Int,
      rows: List[Sent],
      combined: List[Int],
      counted: Long)

  val specs: Gen[WindowSpec] =
    Gen.oneOf(
      TestSpecs.hours,
      TestSpecs.hours.copy(window = Session(Hour)),
      TestSpecs.hours.copy(allowedLatenessUs = 5))
  val times: Gen[List[Long]] = Gen
    .oneOf(0, 1, 5, 60)
    .flatMap(Gen.listOfN(_, Gen.oneOf(Gen.choose(0L, 5 * Hour), Gen.const(Hour + Delay))))
  // Messages of one row, of some rows, and of all rows.
  val limits: Gen[Int] = Gen.oneOf(1, 200, 1 << 16)

  private def policy: TimePolicy = TimePolicy(
    timeColumn = Some(1),
    arrivalColumn = None,
    partitionColumn = None,
    partitions = Nil,
    overColumns = Nil,
    early = None,
    late = None,
    outOfOrder = Accept(Delay),
    advance = Periodic(rows = Some(1), everyUs = None),
    idlePartitionUs = None,
    estimateArrival = false)

  def receiverOf(number: Int): Int = {
    val bytes = toBytes(InternalRow(number.toLong)).getBytes
    val range = new ByteRange().set(bytes, 0, bytes.length)
    KeyGroups.groupOf(KeyGroups.hash(range), TestSpecs.hours.keyGroups) % Partitions
  }

  /** The end of the window of a row. */
  def endOf(time: Long): Long = Math.floorDiv(time, Hour) * Hour + Hour

  /** The messages of a task whose rows have times, and their numbers as keys. */
  def messages(
      spec: WindowSpec,
      times: List[Long],
      limit: Int,
      reached: Option[Long] = None): List[Message] = {
    val judgement = JudgementColumns.create().copy(bySource = true)
    val plan = TestPlans
      .of(
        Seq(key),
        Nil,
        Seq(TestPlans.aggregate(Count(Seq(Literal(1))))),
        spec,
        if (spec.allowedLatenessUs > 0) KeyedLayout else SliceLayout)
      .copy(judgement = Some(judgement))
    val input = Seq(key, TestPlans.time) ++ judgement.all
    val tasks =
      SourceTasks(plan, input, None, Some(policy), false, None, reached, Partitions, clocks = 0)
    val toRow = UnsafeProjection.create(input, input)
    var read = 0
    val rows = times.iterator.zipWithIndex.map { case (time, number) =>
      read += 1
      toRow(InternalRow(number.toLong, time, 0L, 0L)): InternalRow
    }
    val conf = new SQLConf
    conf.setConfString("spark.transom.limits.payload", limit.toString)
    TaskContext.setTaskContext(TaskContext.empty())
    try
      SQLConf.withExistingConf(conf) {
        val found = ArrayBuffer.empty[Message]
        tasks.messages(rows).foreach { message =>
          val to = (0 until Partitions).indexWhere(
            KeyGroups.idOf(_) == message.getInt(SourceMessage.Group))
          val payload = message.getBinary(SourceMessage.Payload)
          val kind = message.getInt(SourceMessage.Kind)
          val sent =
            if (kind != SourceMessage.Rows) Nil
            else
              new SourceRowsReader(payload, input.length)
                .map(row => Sent(row.row.getLong(0).toInt, to, row.watermark))
                .toList
          val combined = if (kind == SourceMessage.Combined) numbersIn(plan, payload) else Nil
          val counts = new RowCounts
          if (kind == SourceMessage.End && payload != null) counts.add(payload)
          val bytes = if (payload == null) 0 else payload.length
          found += Message(kind, to, read, bytes, sent, combined, counts(RowCounts.In))
        }
        found.toList
      }
    finally TaskContext.unset()
  }

  /** The keys of the accumulators in a message, of which each has one row. */
  private def numbersIn(plan: WindowOperatorPlan, payload: Array[Byte]): List[Int] =
    ExchangeDecoder
      .of(plan)
      .inputs(new ExchangeRowsReader(payload))
      .flatMap {
        case segment: GroupInput.Segment =>
          val records = new Cursor(Iterator.single(segment.bytes))
          Iterator
            .continually(records.advance())
            .takeWhile(identity)
            .map(_ => keyOf(records.key))
        case other => throw new IllegalArgumentException(s"$other among combined rows")
      }
      .toList

  private def keyOf(bytes: ByteRange): Int = {
    val row = new UnsafeRow(1)
    row.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    row.getLong(0).toInt
  }
}
