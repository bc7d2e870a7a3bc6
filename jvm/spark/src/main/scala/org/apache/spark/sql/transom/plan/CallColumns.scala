package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

import transom.engine.time.Timeline

/** The columns that an operator emits for a user function, next to keys, window and pane.
  *
  * @param callColumns
  *   columns of a row of the window
  * @param takesRows
  *   whether the function receives the rows of a window; if not, it receives results of
  *   aggregates
  * @param reportsGone
  *   whether the operator emits a row for each window that is removed, without a call
  * @param lifetime
  *   the lifetime of a row, if rows have lifetimes
  */
private final class CallColumns(
    callColumns: Seq[Attribute],
    takesRows: Boolean,
    reportsGone: Boolean,
    lifetime: Option[ClippedLifetime]) {
  import CallColumns._

  val watermark: Attribute = AttributeReference("watermark", LongType, nullable = false)()
  val isLast: Option[Attribute] =
    Option.when(takesRows)(AttributeReference(IsLast, BooleanType, nullable = false)())
  // Null if the window has no rows. The call then has a single output row.
  val row: Option[Attribute] =
    Option.when(takesRows)(AttributeReference(Row, DataTypeUtils.fromAttributes(callColumns))())
  val windowGone: Option[Attribute] =
    Option.when(reportsGone)(AttributeReference("window_gone", BooleanType, nullable = false)())

  /** The columns as the function receives them.
    *
    * @param values
    *   results of aggregates, if the function does not receive rows
    */
  def columns(values: Seq[NamedExpression]): Seq[NamedExpression] =
    Seq(Alias(watermarkTimestamp, "watermark")(), Alias(CurrentTimestamp(), "clock")()) ++
      (if (takesRows) isLast ++ row.map(row => lifetime.fold[NamedExpression](row)(_.in(row)))
       else
         Seq(
           Alias(Literal(true), IsLast)(),
           Alias(
             unlessGone(CreateNamedStruct(values.flatMap {
               case Alias(value, name) => Seq(Literal(name), value)
               case value => Seq(Literal(value.name), value)
             })),
             Row)())) ++ windowGone

  // The row of a removed window has no values, so an expression over aggregates might fail on it.
  private def unlessGone(value: Expression): Expression =
    windowGone.fold(value)(If(_, Literal(null, value.dataType), value))

  /** The event watermark as a timestamp. Null before the first watermark, for a static DataFrame,
    * and at the end of time.
    */
  private def watermarkTimestamp: Expression =
    If(
      And(GreaterThan(watermark, Literal(0L)), LessThan(watermark, Literal(Timeline.EndOfTime))),
      PreciseTimestampConversion(watermark, LongType, TimestampType),
      Literal(null, TimestampType))
}

/** Names of the columns. */
private object CallColumns {
  private final val IsLast = "is_last"
  private final val Row = "row"
}
