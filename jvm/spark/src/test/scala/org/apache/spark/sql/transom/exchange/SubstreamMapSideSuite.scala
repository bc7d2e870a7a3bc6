package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.{TestPlans, TestSpecs}
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.{KeyedLayout, SubstreamColumns, WindowOperatorPlan}
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.runtime.{DeadLetterReason, GroupInput}
import transom.engine.spec._
import transom.engine.state.KeyGroups
import transom.engine.time.Watermark

/** Rows on their way to windows over substreams: encoded by tasks, sorted, and decoded. */
class SubstreamMapSideSuite extends MapSideTest {
  import SubstreamMapSideSuite._

  // Spark compiles projections for each case.
  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(30)

  property("a key group reads its rows in the order of arrival, and a substream has one group") {
    forAll(tasks, limits) { (tasks, limit) =>
      val inputs = sent(tasks, limit)
      val rows = inputs.collect { case (group, Read(row)) => group -> row }
      assertEquals(
        rows.map(_._2).sortBy(_.number),
        tasks.flatten.filter(_.isUsable).sortBy(_.number))
      rows.groupBy(_._1).values.foreach { ofGroup =>
        val arrivals = ofGroup.map(_._2.arrival.get)
        assertEquals(arrivals, arrivals.sorted)
      }
      rows.groupBy(_._2.substream).foreach { case (substream, ofSubstream) =>
        assertEquals(ofSubstream.map(_._1).distinct.length, 1, s"$substream")
      }
    }
  }

  property(
    "with a late rule, each task with usable rows tells its latest arrival to all groups") {
    forAll(tasks, limits) { (tasks, limit) =>
      val told = sent(tasks, limit, planOf(policy.copy(late = Some(Drop(5))))).collect {
        case (group, Latest(arrival)) => group -> arrival
      }
      val latest =
        tasks.map(_.filter(_.isUsable).flatMap(_.arrival)).filter(_.nonEmpty).map(_.max)
      val expected = for (arrival <- latest; group <- 0 until Groups) yield group -> arrival
      assertEquals(told.sorted, expected.sorted)
    }
  }

  property("without a late rule, no task tells its latest arrival") {
    forAll(tasks, limits) { (tasks, limit) =>
      assert(!sent(tasks, limit).exists { case (_, received) => received.isInstanceOf[Latest] })
    }
  }

  property("rows without a substream or an arrival are dead letters") {
    forAll(tasks, limits) { (tasks, limit) =>
      val letters = sent(tasks, limit).collect { case (_, Letter(reason)) => reason }
      val expected = tasks.flatten.collect {
        case row if row.substream.isEmpty => DeadLetterReason.NoSubstream.name
        case row if row.arrival.isEmpty => DeadLetterReason.NoTime.name
      }
      assertEquals(letters.sorted, expected.sorted)
    }
  }
}

private object SubstreamMapSideSuite {
  final val Groups = 3

  /** A row: its number, substream, the rest of its key, and arrival. Its time is its number. */
  final case class Sent(
      number: Long,
      substream: Option[String],
      rest: Long,
      arrival: Option[Long]) {
    def isUsable: Boolean = substream.isDefined && arrival.isDefined
    def internal: InternalRow =
      InternalRow(substream.map(UTF8String.fromString).orNull, rest, number, arrival.orNull)
  }

  sealed trait Received
  final case class Read(row: Sent) extends Received
  final case class Latest(arrival: Long) extends Received
  final case class Letter(reason: String) extends Received

  private val device = AttributeReference("device", StringType)()
  private val rest = AttributeReference("rest", LongType)()
  private val arrival = AttributeReference("arrival", LongType)()
  private val input = Seq(device, rest, TestPlans.time, arrival)

  private val policy = TimePolicy(
    Some(1),
    Some(2),
    None,
    Nil,
    Seq(0),
    None,
    None,
    Accept(0),
    Periodic(Some(1), None),
    None,
    estimateArrival = false)

  private val plan = planOf(policy)

  private def planOf(policy: TimePolicy): WindowOperatorPlan = TestPlans
    .of(
      Seq(rest, device),
      Nil,
      Nil,
      TestSpecs.hours.copy(time = Some(policy), keyGroups = Groups, deadLetters = true),
      KeyedLayout)
    .copy(
      row = input,
      order = Seq(arrival),
      substreams = Some(SubstreamColumns(policy, arrival, keys = Seq(1))))

  val limits: Gen[Option[Int]] = Gen.option(Gen.oneOf(1, 300))

  /** The rows of two tasks. */
  val tasks: Gen[Seq[Seq[Sent]]] = for {
    length <- Gen.choose(0, 40)
    rows <- Gen.listOfN(
      length,
      Gen.zip(
        Gen.frequency(9 -> Gen.oneOf("a", "b", "c", "d").map(Some(_)), 1 -> Gen.const(None)),
        Gen.choose(0L, 2L),
        Gen.frequency(9 -> Gen.choose(0L, 60L).map(Some(_)), 1 -> Gen.const(None))))
    cut <- Gen.choose(0, length)
  } yield {
    val sent = rows.zipWithIndex.map { case ((substream, rest, arrival), number) =>
      Sent(number.toLong, substream, rest, arrival)
    }
    Seq(sent.take(cut), sent.drop(cut))
  }

  /** What the key groups receive from the tasks, each input with its key group. */
  def sent(
      tasks: Seq[Seq[Sent]],
      limit: Option[Int],
      plan: WindowOperatorPlan = plan): Seq[(Int, Received)] = {
    val conf = new SQLConf
    limit.foreach(bytes => conf.setConfString("spark.transom.limits.payload", bytes.toString))
    val exchanged = SQLConf.withExistingConf(conf) {
      tasks.flatMap { rows =>
        new MapSidePlan(plan, input, Watermark.NotYet)
          .create()
          .encode(rows.iterator.map(_.internal))
          .map(_.copy())
          .toVector
      }
    }
    val columns = ExchangeFormat.attributes(plan.order)
    val order = RowOrdering.create(ExchangeFormat.inOrder(columns), columns)
    (0 until Groups).flatMap { group =>
      val ofGroup =
        exchanged.filter(_.getInt(ExchangeFormat.Group) == KeyGroups.idOf(group)).sorted(order)
      ExchangeDecoder
        .of(plan)
        .inputs(ofGroup.iterator)
        .flatMap(read)
        .map(group -> _)
        .toVector
    }
  }

  private def read(input: GroupInput): Option[Received] = input match {
    case row: GroupInput.Row =>
      val key = new UnsafeRow(2)
      key.pointTo(row.key.bytes, UnsafeRows.offset(row.key), row.key.length)
      val substream = Some(key.getUTF8String(1).toString)
      Some(Read(Sent(row.context.time, substream, key.getLong(0), Some(row.context.arrival))))
    case latest: GroupInput.LatestArrival => Some(Latest(latest.time))
    case letter: GroupInput.DeadLetter => Some(Letter(letter.reason.name))
    case _ => None
  }
}
