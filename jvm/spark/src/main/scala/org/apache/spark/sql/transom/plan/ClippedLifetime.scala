package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

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
