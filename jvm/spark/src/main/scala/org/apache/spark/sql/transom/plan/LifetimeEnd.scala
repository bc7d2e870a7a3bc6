package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.function.NullOnError
import org.apache.spark.sql.types.{DataType, LongType, StructType}

import transom.engine.spec.Lifetime
import transom.engine.window.RowContext

/** Builds the expressions for the lifetime of a row. */
private[plan] object LifetimeEnd {

  /** The end in microseconds since 1970: `RowContext.NoEnd` for a row without end, and null for a
    * bad lifetime.
    *
    * A time policy may move the time of a row later. The end stays.
    *
    * @param time
    *   the time of a row, before a time policy moves it
    * @param column
    *   the user's end, or the duration as a day-time interval or in microseconds
    */
  def of(lifetime: Lifetime, time: Expression, column: Expression): Expression =
    NullOnError(
      if (lifetime.endColumn.isDefined) orNoEnd(time, column)
      // Spark would add days of 23 or 25 hours where clocks change. A duration has a fixed length.
      else endOf(Add(RowColumns.lastInstant(time), micros(column))))

  /** A row that starts or ends a lifetime: a struct of the end, as `of` returns it, and of the
    * id. The id is a struct of the time in microseconds and of the user's columns. Null for a bad
    * lifetime.
    */
  def edge(time: Expression, end: Expression, ids: Seq[Expression]): Expression =
    NullOnError(
      CreateNamedStruct(
        Seq(
          Literal("end"),
          orNoEnd(time, end),
          Literal("id"),
          CreateNamedStruct(
            (RowColumns.lastInstant(time) +: ids.map(ComparableKeys.of)).zipWithIndex
              .flatMap { case (part, i) => Seq(Literal(s"id$i"), part) }))))

  /** The time by which an edge is early or late: its end if it has one, and else its time. */
  def edgeTime(time: Expression, end: Expression): Expression = {
    val start = time.dataType match {
      case _: StructType =>
        PreciseTimestampConversion(RowColumns.lastInstant(time), LongType, instantType(time))
      case _ => time
    }
    If(
      IsNull(start),
      Literal(null, start.dataType),
      Coalesce(Seq(NullOnError.of(inTypeOf(time, end)), start)))
  }

  private def orNoEnd(time: Expression, end: Expression): Expression =
    Coalesce(Seq(endOf(micros(inTypeOf(time, end))), Literal(RowContext.NoEnd)))

  /** The end of a row that has one. The largest time of Spark is no lifetime without end: it is
    * bad, like the time before it.
    */
  private def endOf(end: Expression): Expression =
    If(EqualTo(end, Literal(RowContext.NoEnd)), Literal(RowContext.NoEnd - 1), end)

  private def instantType(time: Expression): DataType = time.dataType match {
    case window: StructType => window(1).dataType
    case instant => instant
  }

  /** Casts an instant to the type of the time, which has a time zone or has none. */
  def inTypeOf(time: Expression, instant: Expression): Expression = {
    val kind = instantType(time)
    if (instant.dataType == kind) instant
    else Cast(instant, kind, Some(SQLConf.get.sessionLocalTimeZone))
  }

  private def micros(column: Expression): Expression = column.dataType match {
    case LongType => column
    case other => PreciseTimestampConversion(column, other, LongType)
  }
}
