package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import transom.engine.TimeWindow
import transom.engine.keyed.Arrival
import transom.engine.spec

/** Where rows say themselves that they belong, in the second column of their records: a session's
  * gap, an interval, or windows, a list of structs of start and end.
  */
final class Placing(window: spec.Window) {
  import Placing._

  private val hasGap = window.isInstanceOf[spec.DynamicSession]

  /** Whether rows list their windows. */
  val isListed: Boolean = window.isInstanceOf[spec.Custom]

  /** Whether what a row says can be used. */
  def isUsable(record: UnsafeRow): Boolean =
    if (hasGap) !record.isNullAt(Column) && record.getLong(Column) > 0
    else !isListed || !record.isNullAt(Column) && areUsable(record)

  def read(record: UnsafeRow, arrival: Arrival): Unit =
    if (hasGap) arrival.gap = record.getLong(Column)
    else if (isListed) arrival.windows = windows(record)

  private def areUsable(record: UnsafeRow): Boolean = {
    val listed = record.getArray(Column)
    listed.numElements <= spec.Hopping.MostWindowsPerRow &&
    (0 until listed.numElements).forall { i =>
      !listed.isNullAt(i) && {
        val bounds = listed.getStruct(i, 2)
        !bounds.isNullAt(0) && !bounds.isNullAt(1) && bounds.getLong(0) < bounds.getLong(1)
      }
    }
  }

  private def windows(record: UnsafeRow): Seq[TimeWindow] = {
    val listed = record.getArray(Column)
    (0 until listed.numElements).map { i =>
      val bounds = listed.getStruct(i, 2)
      TimeWindow(bounds.getLong(0), bounds.getLong(1))
    }.distinct
  }
}

private object Placing {
  val Column = 1
}
