package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.planned.WindowType
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import transom.engine.judge.Judgement
import transom.engine.runtime.{DeadLetterReason, RowRules}
import transom.engine.time.Watermark
import transom.engine.window.RowContext

/** Builds the `stamp` of a row from the columns of a time stage.
  *
  * @param children
  *   the time in force, in microseconds, or the watermark that a punctuation sets; the watermark;
  *   the code of the judgement; and the end of the row's lifetime, if rows have lifetimes
  * @param timeType
  *   type of the user's time column
  */
final case class StampOf(children: Seq[Expression], timeType: DataType)
    extends Expression
    with CodegenFallback {
  import StampOf._

  private def hasLifetime: Boolean = children.length > 3

  override def nullable: Boolean = false

  override def dataType: DataType = typeOf(timeType, hasLifetime)

  override def eval(row: InternalRow): Any = {
    val values = children.map(_.eval(row))
    val judgement = new Judgement
    val met = values(1).asInstanceOf[Long]
    // The time may be null, and stays as it is.
    judgement.read(RowContext.NoTime, met, values(2).asInstanceOf[Long])
    import judgement.isPunctuation
    val reason = Option(judgement.dropped)
    val broken = judgement.broken.toSeq.map(rule => nameOf(rule.reason))
    val lifetime =
      if (!hasLifetime || reason.isDefined || isPunctuation) null
      else lifetimeOf(values.head, values.last)
    val isOver = hasLifetime && lifetime == null && !isPunctuation
    val isDropped = reason.isDefined || isOver
    // A row that no rule can judge has a reason without a rule.
    val names =
      if (broken.nonEmpty) broken
      else reason.orElse(Option.when(isOver)(DeadLetterReason.BadLifetime)).map(nameOf).toSeq
    val disposition =
      if (isDropped) Dropped
      else if (isPunctuation) Punctuation
      else if (judgement.isAdjusted) Adjusted
      else Accepted
    InternalRow.fromSeq(
      Seq(if (isDropped) null else values.head) ++ Option.when(hasLifetime)(lifetime) ++
        Seq(
          if (met == Watermark.NotYet) null else met,
          ArrayData.toArrayData(names.toArray[Any]),
          disposition))
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): StampOf =
    copy(children = newChildren)
}

/** The type of stamps, and the texts in them. */
object StampOf {

  /** The type of the column `stamp`.
    *
    * @param timeType
    *   type of the user's time column
    */
  def typeOf(timeType: DataType, hasLifetime: Boolean): StructType =
    StructType(
      Seq(StructField("time", timeType)) ++
        Option.when(hasLifetime)(StructField("lifetime", WindowType.of(timeType))) ++
        Seq(
          StructField("watermark", timeType),
          StructField("rules", ArrayType(StringType, containsNull = false), nullable = false),
          StructField("disposition", StringType, nullable = false)))

  private val Accepted: UTF8String = UTF8String.fromString("accepted")
  private val Adjusted: UTF8String = UTF8String.fromString("adjusted")
  private val Dropped: UTF8String = UTF8String.fromString("dropped")
  private val Punctuation: UTF8String = UTF8String.fromString("punctuation")

  private def nameOf(reason: DeadLetterReason): UTF8String = UTF8String.fromString(reason.name)

  /** The lifetime of a row from its time in force on; null if it is over by then, or bad. */
  private def lifetimeOf(time: Any, end: Any): InternalRow = (time, end) match {
    case (start: Long, end: Long) if RowRules.isLifetime(start, end) =>
      InternalRow(start, if (end == RowContext.NoEnd) null else end)
    case _ => null
  }
}
