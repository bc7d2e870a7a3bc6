package org.apache.spark.sql.transom.exchange

import munit.ScalaCheckSuite
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.{TestPlans, TestSession}
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen

import transom.engine.runtime.{GroupInput, RowCounts}
import transom.engine.state.{ByteRange, KeyGroups}
import transom.engine.time.Watermark

/** Runs the map side of an operator over generated rows. */
abstract class MapSideTest extends ScalaCheckSuite {
  import MapSideTest._

  // The map side derives its limits from the environment of Spark.
  override def beforeAll(): Unit = TestSession.spark: Unit

  /** Returns what an operator receives. Each input is read before the next one.
    *
    * @param columns
    *   the columns of the rows
    * @param watermark
    *   the late watermark in microseconds since 1970
    * @param limit
    *   the size of chunks, batches and combined rows; none for the usual sizes
    * @param read
    *   reads an input, given its key group
    */
  protected def received[T](
      plan: WindowOperatorPlan,
      rows: Seq[InternalRow],
      watermark: Long = Watermark.NotYet,
      limit: Option[Int] = None,
      columns: Seq[Attribute] = input)(read: (Int, GroupInput) => Seq[T]): Seq[T] = {
    val conf = new SQLConf
    limit.foreach { bytes =>
      Seq("payload", "combined").foreach(name =>
        conf.setConfString(s"spark.transom.limits.$name", bytes.toString))
    }
    val decoder = ExchangeDecoder.of(plan)
    val groupOf = (0 until plan.keyGroups).map(group => KeyGroups.idOf(group) -> group).toMap
    SQLConf.withExistingConf(conf) {
      new MapSidePlan(plan, columns, watermark)
        .create()
        .encode(rows.iterator)
        .map(_.copy())
        .flatMap { row =>
          val group = groupOf(row.getInt(ExchangeFormat.Group))
          decoder.inputs(Iterator.single(row)).flatMap(read(group, _))
        }
        .toVector
    }
  }
}

object MapSideTest {
  val key: Attribute = AttributeReference("key", StringType)()
  val value: Attribute = AttributeReference("value", LongType)()
  val input: Seq[Attribute] = Seq(key, TestPlans.time, value)

  final val Hour = 3600000000L

  /** An input row. */
  final case class InputRow(key: Option[String], time: Option[Long], value: Option[Long]) {
    def internal: InternalRow =
      InternalRow(key.map(UTF8String.fromString).orNull, time.orNull, value.orNull)

    /** Whether Spark's documented range of timestamps, the years 1 to 9999, has the time. */
    def isInRange: Boolean =
      time.exists(micros => Instants.First <= micros && micros <= Instants.Last)
  }

  private object Instants {
    private def micros(text: String): Long =
      java.time.Instant.parse(text).getEpochSecond * 1000000L
    val First: Long = micros("0001-01-01T00:00:00Z")
    val Last: Long = micros("9999-12-31T23:59:59Z") + 999999L
  }

  private val keys: Gen[Option[String]] =
    Gen.option(Gen.oneOf("", "a", "b", "c", "münchen", "w" * 3000))

  private val times: Gen[Option[Long]] = Gen.frequency(
    10 -> Gen.choose(-3 * Hour, 3 * Hour).map(Some(_)),
    2 -> Gen.oneOf(-Hour, -1L, 0L, Hour - 1, Hour).map(Some(_)),
    1 -> Gen
      .oneOf(Instants.First, Instants.Last, Instants.First - 1, Instants.Last + 1)
      .map(Some(_)),
    1 -> Gen.oneOf(Long.MinValue, Long.MaxValue).map(Some(_)),
    1 -> Gen.const(None))

  private val row: Gen[InputRow] =
    Gen.zip(keys, times, Gen.option(Gen.choose(-1000L, 1000L))).map((InputRow.apply _).tupled)

  val rows: Gen[List[InputRow]] =
    Gen.oneOf(0, 1, 2, 10, 60).flatMap(Gen.listOfN(_, row))

  private val keyRow = new UnsafeRow(1)

  def keyOf(bytes: ByteRange): Option[String] = {
    keyRow.pointTo(bytes.bytes, UnsafeRows.offset(bytes), bytes.length)
    Option(keyRow.getUTF8String(0)).map(_.toString)
  }

  /** The counts of an input by name, without those that are 0. */
  def countsOf(input: GroupInput.Counts): Map[String, Long] = {
    val counts = new RowCounts
    counts.add(input.bytes)
    RowCounts.all.map(_.name).zip(counts.toSeq).filter(_._2 > 0).toMap
  }

  /** The expected counts by name, without those that are 0. */
  def counted(counts: (String, Int)*): Map[String, Long] =
    counts.collect { case (name, count) if count > 0 => name -> count.toLong }.toMap
}
