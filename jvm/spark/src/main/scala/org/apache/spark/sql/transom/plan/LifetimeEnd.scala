package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.function.NullOnError
import org.apache.spark.sql.types.{LongType, StructType}

import transom.engine.spec.Lifetime
import transom.engine.window.Arrival

/** Builds the expression for the end of a row's lifetime. */
private[plan] object LifetimeEnd {

  /** The end in microseconds since 1970: `Arrival.NoEnd` for a row without end, and null for a
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
      if (lifetime.endColumn.isDefined)
        Coalesce(Seq(micros(inTypeOf(time, column)), Literal(Arrival.NoEnd)))
      // Spark would add days of 23 or 25 hours where clocks change. A duration has a fixed length.
      else Add(RowColumns.lastInstant(time), micros(column)))

  /** Casts an instant to the type of the time, which has a time zone or has none. */
  def inTypeOf(time: Expression, instant: Expression): Expression = {
    val kind = time.dataType match {
      case window: StructType => window(1).dataType
      case kind => kind
    }
    if (instant.dataType == kind) instant
    else Cast(instant, kind, Some(SQLConf.get.sessionLocalTimeZone))
  }

  private def micros(column: Expression): Expression = column.dataType match {
    case LongType => column
    case other => PreciseTimestampConversion(column, other, LongType)
  }
}
