package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.ArrayData

import transom.engine.spec
import transom.engine.window.{Arrival, TimeWindow}

/** Reads the second column of a record, by which a row defines its windows itself. The column
  * holds a session gap in microseconds, or a list of windows: structs of start and end in
  * microseconds since 1970.
  */
final class RowWindowReader(window: spec.Window) {
  import RowWindowReader._

  private val hasGap = window.isInstanceOf[spec.DynamicSession]

  /** Whether each row lists its windows. */
  val isListed: Boolean = window.isInstanceOf[spec.Custom]

  /** The reason code of a dead letter if the column of the row is invalid, else none. */
  def problem(record: UnsafeRow): Option[Int] =
    if (hasGap) {
      if (!record.isNullAt(Column) && isUsable(record.getLong(Column))) None
      else Some(DeadLetter.BadGap)
    } else if (!isListed) None
    else if (record.isNullAt(Column)) Some(DeadLetter.BadWindows)
    else problem(record.getArray(Column))

  /** Sets the gap or the windows of `arrival` from a record that `problem` has accepted. */
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

/** Position and limits of the values that define windows. */
private object RowWindowReader {
  final val Column = 1

  private def isUsable(gap: Long): Boolean = gap > 0 && gap <= spec.Durations.LongestUs

  /** Whether `[start, end)` is not empty and lies in the years 1 to 9999. */
  private def isSpan(start: Long, end: Long): Boolean =
    start < end && DeadLetter.isInRange(start) && DeadLetter.isInRange(end - 1)
}
