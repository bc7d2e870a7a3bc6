package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

import transom.engine.window.GlobalGrid

/** The columns that an operator emits for a user function, next to keys, window and pane.
  *
  * @param contents
  *   columns of a row of the window
  * @param takesRows
  *   whether the function receives the rows of a window; if not, it receives results of
  *   aggregates
  * @param emitsEnds
  *   whether the operator emits a row that marks the end of each window, without a call
  * @param lifetime
  *   the lifetime of a row, if rows have lifetimes
  */
private final class CallColumns(
    contents: Seq[Attribute],
    takesRows: Boolean,
    emitsEnds: Boolean,
    lifetime: Option[ClippedLifetime]) {
  import CallColumns._

  val watermark: Attribute = AttributeReference("watermark", LongType, nullable = false)()
  val isLast: Option[Attribute] =
    Option.when(takesRows)(AttributeReference(IsLast, BooleanType, nullable = false)())
  // Null if the window has no rows. The call then has a single output row.
  val row: Option[Attribute] =
    Option.when(takesRows)(AttributeReference(Row, DataTypeUtils.fromAttributes(contents))())
  val isOver: Option[Attribute] =
    Option.when(emitsEnds)(AttributeReference("is_over", BooleanType, nullable = false)())

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
             unlessOver(CreateNamedStruct(values.flatMap {
               case Alias(value, name) => Seq(Literal(name), value)
               case value => Seq(Literal(value.name), value)
             })),
             Row)())) ++ isOver

  // The row that marks an end has no values, so an expression over aggregates might fail on it.
  private def unlessOver(value: Expression): Expression =
    isOver.fold(value)(If(_, Literal(null, value.dataType), value))

  /** The event watermark as a timestamp. Null before the first watermark, for a static DataFrame,
    * and at the end of time.
    */
  private def watermarkTimestamp: Expression =
    If(
      And(
        GreaterThan(watermark, Literal(0L)),
        LessThan(watermark, Literal(GlobalGrid.EndOfTime))),
      PreciseTimestampConversion(watermark, LongType, TimestampType),
      Literal(null, TimestampType))
}

/** The lifetime of a row, clipped to the window: what a function sees that knows time (S-13).
  *
  * @param time
  *   the time of a row in microseconds
  * @param end
  *   the end of its lifetime in microseconds
  * @param from
  *   the start of the window
  * @param until
  *   the end of the window
  */
private final class ClippedLifetime(
    time: Attribute,
    end: Attribute,
    from: Attribute,
    until: Attribute) {

  /** The columns that a row of a window needs at its end. */
  def columns: Seq[Attribute] = Seq(time, end)

  /** A row of a window with the column `lifetime` in place of these columns. */
  def in(row: Attribute): NamedExpression = {
    val fields = row.dataType.asInstanceOf[StructType].fields
    val own = fields.length - columns.length
    def field(i: Int): Expression = GetStructField(row, i, Some(fields(i).name))
    def micros(bound: Attribute) = PreciseTimestampConversion(bound, bound.dataType, LongType)
    def instant(micros: Expression) = PreciseTimestampConversion(micros, LongType, from.dataType)
    val bounds = CreateNamedStruct(
      Seq(
        Literal("start"),
        instant(Greatest(Seq(field(own), micros(from)))),
        Literal("end"),
        instant(Least(Seq(field(own + 1), micros(until))))))
    val whole = CreateNamedStruct(
      (0 until own).flatMap(i => Seq(Literal(fields(i).name), field(i))) ++
        Seq(Literal("lifetime"), bounds))
    Alias(If(IsNull(row), Literal(null, whole.dataType), whole), row.name)()
  }
}

/** Names of the columns. */
private object CallColumns {
  private final val IsLast = "is_last"
  private final val Row = "row"
}
