package org.apache.spark.sql.transom.aggregate

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.transom.TestPlans
import org.apache.spark.sql.transom.function.DistinctAggregate
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen

import transom.engine.state.ByteRange

/** Aggregates of Spark, each with its result in plain Scala. */
object SampleAggregates {
  val number: Attribute = AttributeReference("number", LongType)()
  val real: Attribute = AttributeReference("real", DoubleType)()
  val amount: Attribute = AttributeReference("amount", DecimalType(28, 2))()
  val text: Attribute = AttributeReference("text", StringType)()
  val inputs: Seq[Attribute] = Seq(number, real, amount, text)

  final case class Sample(
      number: Option[Long],
      real: Option[Double],
      amount: Option[BigDecimal],
      text: Option[String]) {

    /** The row as a record of an operator: its time, then the inputs. */
    def record: UnsafeRow = toRecord(
      InternalRow(
        0L,
        number.orNull,
        real.orNull,
        amount.map(Decimal(_, 28, 2)).orNull,
        text.map(UTF8String.fromString).orNull)).copy()
  }

  private val toRecord =
    UnsafeProjection.create((TestPlans.time +: inputs).map(_.dataType).toArray[DataType])

  private val sample: Gen[Sample] = for {
    number <- Gen.option(Gen.choose(-1000000000000L, 1000000000000L))
    real <- Gen.option(Gen.choose(-1e3, 1e3))
    amount <- Gen.option(Gen.choose(-1000000L, 1000000L).map(BigDecimal(_, 2) * 1000000000000L))
    text <- Gen.option(Gen.oneOf("", "a", "b", "ä", "w" * 500))
  } yield Sample(number, real, amount, text)

  val samples: Gen[List[Sample]] = Gen.oneOf(1, 2, 3, 20).flatMap(Gen.listOfN(_, sample))

  /** An aggregate and its expected result. None is null. */
  final case class Case(
      name: String,
      aggregate: AggregateExpression,
      expected: Seq[Sample] => Option[Any])

  private def of(name: String, function: AggregateFunction)(
      expected: Seq[Sample] => Option[Any]) =
    Case(name, TestPlans.aggregate(function), expected)

  private def ifAny[T](values: Seq[T])(result: Seq[T] => Any): Option[Any] =
    Option.when(values.nonEmpty)(result(values))

  private def deviation(values: Seq[Double]): Option[Any] =
    Option.when(values.length > 1) {
      val mean = values.sum / values.length
      math.sqrt(values.map(x => (x - mean) * (x - mean)).sum / (values.length - 1))
    }

  /** Aggregates whose accumulators have a fixed width. */
  val fixedWidth: Seq[Case] = Seq(
    of("count(*)", Count(Seq(Literal(1))))(rows => Some(rows.length.toLong)),
    of("count", Count(Seq(number)))(rows => Some(rows.flatMap(_.number).length.toLong)),
    of("sum", new Sum(number))(rows => ifAny(rows.flatMap(_.number))(_.sum)),
    of("avg", new Average(number))(rows =>
      ifAny(rows.flatMap(_.number))(values => values.sum.toDouble / values.length)),
    of("min", Min(number))(rows => ifAny(rows.flatMap(_.number))(_.min)),
    of("max", Max(real))(rows => ifAny(rows.flatMap(_.real))(_.max)),
    of("stddev", new StddevSamp(real))(rows => deviation(rows.flatMap(_.real))),
    of("sum of decimals", new Sum(amount))(rows => ifAny(rows.flatMap(_.amount))(_.sum)),
    Case(
      "sum with a filter",
      TestPlans.aggregate(new Sum(number)).copy(filter = Some(GreaterThan(real, Literal(0.0)))),
      rows => ifAny(rows.filter(_.real.exists(_ > 0)).flatMap(_.number))(_.sum)))

  /** Aggregates whose accumulators are objects. */
  val ofObjects: Seq[Case] = Seq(
    of("min of strings", Min(text))(rows =>
      ifAny(rows.flatMap(_.text))(_.map(UTF8String.fromString).min(byteOrder))),
    of("collect_list", new CollectList(number))(rows => Some(rows.flatMap(_.number).sorted)),
    of("count distinct", DistinctAggregate(Count(Seq(text))))(rows =>
      Some(rows.flatMap(_.text).distinct.length.toLong)),
    of("sum distinct", DistinctAggregate(new Sum(number)))(rows =>
      ifAny(rows.flatMap(_.number).distinct)(_.sum)))

  private def byteOrder: Ordering[UTF8String] =
    (a, b) => Arrays.compareUnsigned(a.getBytes, b.getBytes)

  /** The result of an aggregate, in a form that can be compared. */
  def resultOf(row: InternalRow, i: Int, dataType: DataType): Option[Any] =
    Option.when(!row.isNullAt(i))(dataType match {
      case ArrayType(LongType, _) => row.getArray(i).toLongArray().toSeq.sorted
      case decimal: DecimalType =>
        row.getDecimal(i, decimal.precision, decimal.scale).toBigDecimal
      case StringType => row.getUTF8String(i).copy()
      case other => row.get(i, other)
    })

  /** Whether two results are equal, floating ones up to rounding. */
  def areEqual(a: Option[Any], b: Option[Any]): Boolean = (a, b) match {
    case (Some(x: Double), Some(y: Double)) =>
      math.abs(x - y) <= 1e-9 * math.max(1.0, math.max(math.abs(x), math.abs(y)))
    case _ => a == b
  }

  /** A copy of bytes that the next call would overwrite. */
  def copyOf(range: ByteRange): ByteRange =
    new ByteRange()
      .set(
        Arrays.copyOfRange(range.bytes, range.offset, range.offset + range.length),
        0,
        range.length)
}
