package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.ArrayData

import transom.engine.TimeWindow
import transom.engine.keyed.Arrival
import transom.engine.spec

/** Where rows say themselves that they belong, in the second column of their records: a session's
  * gap, an interval, or windows, a list of structs of start and end.
  */
final class RowWindowReader(window: spec.Window) {
  import RowWindowReader._

  private val hasGap = window.isInstanceOf[spec.DynamicSession]

  /** Whether rows list their windows. */
  val isListed: Boolean = window.isInstanceOf[spec.Custom]

  /** Why what a row says cannot be used, if it cannot. */
  def problem(record: UnsafeRow): Option[Int] =
    if (hasGap) {
      if (!record.isNullAt(Column) && isUsable(record.getLong(Column))) None
      else Some(DeadLetter.BadGap)
    } else if (!isListed) None
    else if (record.isNullAt(Column)) Some(DeadLetter.BadWindows)
    else problem(record.getArray(Column))

  def read(record: UnsafeRow, arrival: Arrival): Unit =
    if (hasGap) arrival.gap = record.getLong(Column)
    else if (isListed) arrival.windows = windows(record)

  private def problem(windowList: ArrayData): Option[Int] = {
    def areSpans = (0 until windowList.numElements()).forall { i =>
      !windowList.isNullAt(i) && {
        val bounds = windowList.getStruct(i, 2)
        !bounds.isNullAt(0) && !bounds.isNullAt(1) && isSpan(bounds.getLong(0), bounds.getLong(1))
      }
    }
    if (windowList.numElements() > spec.Hopping.MostWindowsPerRow) Some(DeadLetter.TooManyWindows)
    else if (areSpans) None
    else Some(DeadLetter.BadWindows)
  }

  private def windows(record: UnsafeRow): Seq[TimeWindow] = {
    val windowList = record.getArray(Column)
    (0 until windowList.numElements()).map { i =>
      val bounds = windowList.getStruct(i, 2)
      TimeWindow(bounds.getLong(0), bounds.getLong(1))
    }.distinct
  }
}

private object RowWindowReader {
  final val Column = 1

  private def isUsable(gap: Long): Boolean = gap > 0 && gap <= spec.Durations.LongestUs

  /** Whether there is an instant in `[start, end)`, and all of them lie in the years 1 to 9999.
    */
  private def isSpan(start: Long, end: Long): Boolean =
    start < end && DeadLetter.isInRange(start) && DeadLetter.isInRange(end - 1)
}
