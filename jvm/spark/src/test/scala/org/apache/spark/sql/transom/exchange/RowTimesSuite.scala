package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.TestSession
import org.apache.spark.sql.transom.planned.TimeStagePlan
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import org.scalacheck.Test.Parameters

import transom.engine.runtime.{DeadLetterReason, GroupInput}

/** The times of rows that stay with a task: encoded, sorted by the exchange, and decoded. */
class RowTimesSuite extends ScalaCheckSuite {
  import RowTimesSuite._

  override def beforeAll(): Unit = TestSession.spark: Unit

  // Spark compiles projections for each case.
  override def scalaCheckTestParameters: Parameters =
    super.scalaCheckTestParameters.withMinSuccessfulTests(40)

  property("rows come in the order of their order column, nulls first") {
    forAll(rows, limits) { (rows, limit) =>
      val expected = rows.filter(_.isUsable).sortBy(_.order)
      val found = received(plan(partition = false, order = Seq(order)), rows, limit)
      assertEquals(found.times, expected.map(row => (row.number, row.time.get, row.arrival)))
      assertEquals(found.letters, lettersOf(rows))
    }
  }

  property("without an order column, rows come in the order of their arrival") {
    forAll(rows, limits) { (rows, limit) =>
      val expected = rows.filter(_.isUsable).sortBy(_.arrival)
      val found = received(plan(partition = false, order = Seq(arrival)), rows, limit)
      assertEquals(found.times, expected.map(row => (row.number, row.time.get, row.arrival)))
    }
  }

  property("without an arrival either, rows keep the order in which they are read") {
    forAll(rows, limits) { (rows, limit) =>
      val found = received(plan(partition = false, order = Nil), rows, limit)
      assertEquals(found.times.map(_._1), rows.filter(_.isUsable).map(_.number))
    }
  }

  property("rows of partitions come by arrival, and never arrive before the row before them") {
    forAll(rows, limits) { (rows, limit) =>
      val ofPartitions = rows.filter(_.isUsable).groupBy(_.partition).values.flatMap { ofOne =>
        // A row whose order goes back begins anew.
        ofOne.tail.scanLeft(ofOne.head -> ofOne.head.arrival) { case ((before, latest), row) =>
          row -> (if (Ordering[Option[Long]].lt(row.order, before.order)) row.arrival
                  else math.max(latest, row.arrival))
        }
      }
      val expected = ofPartitions.toList
        .sortBy { case (row, arrival) => (arrival, row.partition, row.order, row.number) }
        .map { case (row, arrival) => (row.number, row.time.get, arrival) }
      val columns = Seq(arrival, partition, order)
      assertEquals(received(plan(partition = true, columns), rows, limit).times, expected)
    }
  }
}

private object RowTimesSuite {
  private val time = column("time", LongType)
  val arrival: Attribute = column("arrival", LongType)
  val partition: Attribute = column("partition", StringType)
  val order: Attribute = column("order", LongType)

  private def column(name: String, dataType: DataType): Attribute =
    AttributeReference(name, dataType)()

  /** A row, and its number among all rows of the task. */
  final case class Sent(
      number: Long,
      time: Option[Long],
      arrival: Long,
      partition: String,
      order: Option[Long]) {
    def isUsable: Boolean = time.isDefined
  }

  /** What the time stage receives: number, time and arrival of rows, and numbers of dead letters.
    */
  final case class Received(times: List[(Long, Long, Long)], letters: List[Long])

  def lettersOf(rows: List[Sent]): List[Long] = rows.filterNot(_.isUsable).map(_.number)

  private val numbers: Gen[Long] =
    Gen.frequency(8 -> Gen.choose(-20L, 20L), 1 -> Gen.oneOf(-1L << 50, 1L << 50))

  val rows: Gen[List[Sent]] =
    Gen
      .listOf(
        Gen.zip(
          Gen.frequency(9 -> numbers.map(Some(_)), 1 -> Gen.const(None)),
          numbers,
          Gen.oneOf("a", "b", "münchen"),
          Gen.frequency(9 -> numbers.map(Some(_)), 1 -> Gen.const(None))))
      .map(_.zipWithIndex.map { case ((time, arrival, partition, order), number) =>
        Sent(number.toLong, time, arrival, partition, order)
      })

  val limits: Gen[Option[Int]] = Gen.option(Gen.oneOf(1, 40))

  def plan(partition: Boolean, order: Seq[Attribute]): TimeStagePlan = HeldRowsSuite.plan.copy(
    time = time,
    arrival = arrival,
    partition = Option.when(partition)(this.partition),
    order = order,
    carried = Seq(this.order),
    windows = Some(org.apache.spark.sql.transom.TestSpecs.hours))

  def received(plan: TimeStagePlan, rows: List[Sent], limit: Option[Int]): Received = {
    val columns = Seq(time, arrival, partition, order)
    val conf = new SQLConf
    limit.foreach(bytes => conf.setConfString("spark.transom.limits.payload", bytes.toString))
    val internal = rows.map { row =>
      InternalRow(
        row.time.orNull,
        row.arrival,
        UTF8String.fromString(row.partition),
        row.order.orNull)
    }
    val sent = SQLConf.withExistingConf(conf) {
      new TimeStageEncoder(plan, columns, 0).encode(internal.iterator).map(_.copy()).toVector
    }
    val exchanged = ExchangeFormat.attributes(plan.order)
    val sorted = sent.sorted(RowOrdering.create(ExchangeFormat.inOrder(exchanged), exchanged))
    ExchangeDecoder
      .of(plan)
      .inputs(sorted.iterator)
      .foldLeft(Received(Nil, Nil))((to, input) => add(input, to))
  }

  private def add(input: GroupInput, to: Received): Received = input match {
    case row: GroupInput.Row =>
      val times = (RowNumbers.numberOf(row.value), row.context.time, row.context.arrival)
      to.copy(times = to.times :+ times)
    case letter: GroupInput.DeadLetter if letter.reason == DeadLetterReason.NoTime =>
      to.copy(letters = (to.letters :+ RowNumbers.numberOf(letter.input)).sorted)
    case _ => to
  }
}
