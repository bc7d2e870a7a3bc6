package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

import transom.engine.GlobalGrid

/** What an operator yields for a function of the user's that is called behind it, beside the
  * keys, the window and the pane.
  *
  * @param contents
  *   the columns of a row
  * @param takesRows
  *   whether the function is called with rows; if not, with the results of aggregates
  * @param emitsEnds
  *   whether windows that are over are told of, each by a row that is no call
  */
private final class CallColumns(
    contents: Seq[Attribute],
    takesRows: Boolean,
    emitsEnds: Boolean) {
  private val watermark = AttributeReference("watermark", LongType, nullable = false)()
  private val isLast = AttributeReference("is_last", BooleanType, nullable = false)()
  // Null in the one row of a call without rows.
  private val row = AttributeReference("row", DataTypeUtils.fromAttributes(contents))()

  private val isOver = AttributeReference("is_over", BooleanType, nullable = false)()
  private val ends = if (emitsEnds) Seq(isOver) else Nil

  def attributes: Seq[Attribute] =
    (watermark +: (if (takesRows) Seq(isLast, row) else Nil)) ++ ends

  /** The columns of calls.
    *
    * @param values
    *   the results of aggregates
    */
  def columns(values: Seq[NamedExpression]): Seq[NamedExpression] =
    Seq(Alias(known, "watermark")(), Alias(CurrentTimestamp(), "clock")()) ++
      (if (takesRows) Seq(isLast, row)
       else
         Seq(
           Alias(Literal(true), isLast.name)(),
           Alias(
             unlessOver(CreateNamedStruct(values.flatMap {
               case Alias(value, name) => Seq(Literal(name), value)
               case value => Seq(Literal(value.name), value)
             })),
             row.name)())) ++ ends

  // Of nothing, what is computed of aggregates may be an error.
  private def unlessOver(value: Expression): Expression =
    if (emitsEnds) If(isOver, Literal(null, value.dataType), value) else value

  /** There is none before the first, none of a static DataFrame, and none when time has ended. */
  private def known: Expression =
    If(
      And(
        GreaterThan(watermark, Literal(0L)),
        LessThan(watermark, Literal(GlobalGrid.EndOfTime))),
      PreciseTimestampConversion(watermark, LongType, TimestampType),
      Literal(null, TimestampType))
}
