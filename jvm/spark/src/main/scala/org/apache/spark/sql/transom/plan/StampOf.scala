package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.operator.Verdict
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.policy.Stamp
import transom.engine.time.Watermark

/** Builds the `stamp` of a row from the columns of a time stage.
  *
  * @param time
  *   the time in force, in microseconds; of a punctuation, the watermark that it sets
  * @param timeType
  *   type of the user's time column
  */
final case class StampOf(
    time: Expression,
    watermark: Expression,
    verdict: Expression,
    timeType: DataType)
    extends TernaryExpression
    with CodegenFallback {
  import StampOf._

  override def first: Expression = time
  override def second: Expression = watermark
  override def third: Expression = verdict
  override def nullable: Boolean = false

  override def dataType: DataType = StructType(
    Seq(
      StructField("time", timeType),
      StructField("watermark", timeType),
      StructField("rules", ArrayType(StringType, containsNull = false), nullable = false),
      StructField("disposition", StringType, nullable = false)))

  override def eval(row: InternalRow): Any = {
    val code = verdict.eval(row).asInstanceOf[Long]
    val dropped = Verdict.dropped(code)
    val met = watermark.eval(row).asInstanceOf[Long]
    val broken = Verdict.rules(code).map(rules)
    // A row that no rule can judge has a reason without a rule.
    val names =
      if (broken.isEmpty) dropped.map(r => UTF8String.fromString(r.name)).toSeq else broken
    InternalRow(
      if (dropped.isDefined) null else time.eval(row),
      if (met == Watermark.NotYet) null else met,
      ArrayData.toArrayData(names.toArray[Any]),
      if (dropped.isDefined) Dropped
      else if (Verdict.isPunctuation(code)) Punctuation
      else if (Verdict.isAdjusted(code)) Adjusted
      else Accepted)
  }

  override protected def withNewChildrenInternal(
      time: Expression,
      watermark: Expression,
      verdict: Expression): StampOf = copy(time, watermark, verdict)
}

private object StampOf {
  val rules: IndexedSeq[UTF8String] = Stamp.ruleNames.map(UTF8String.fromString)
  val Accepted: UTF8String = UTF8String.fromString("accepted")
  val Adjusted: UTF8String = UTF8String.fromString("adjusted")
  val Dropped: UTF8String = UTF8String.fromString("dropped")
  val Punctuation: UTF8String = UTF8String.fromString("punctuation")
}
