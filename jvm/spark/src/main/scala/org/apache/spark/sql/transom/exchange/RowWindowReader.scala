package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.operator.WindowOperatorPlan

import transom.engine.operator.{DeadLetterReason, Event, RowRules}
import transom.engine.spec
import transom.engine.window.{Arrival, TimeWindow}

/** Reads the column of a record that defines the windows of the row.
  *
  * The column is the second of the record. It holds the end of a lifetime, the end and the id of
  * a lifetime, a session gap in microseconds, or a list of windows: structs of start and end in
  * microseconds since 1970. Records of other window types have no such column.
  */
final class RowWindowReader(operatorPlan: WindowOperatorPlan) {
  import RowWindowReader._

  private val record = new UnsafeRow(operatorPlan.record.length)
  private val edges = operatorPlan.settings.lifetime.filter(_.hasEdges)
  private val hasEdges = edges.isDefined
  private val hasLifetime = operatorPlan.settings.lifetime.isDefined && !hasEdges
  private val hasGap = operatorPlan.settings.window.isInstanceOf[spec.DynamicSession]

  /** Whether each row lists its windows. */
  val isListed: Boolean = operatorPlan.settings.window.isInstanceOf[spec.Custom]

  /** Why the column of a record is invalid; none if the column is valid.
    *
    * @param isAdjusted
    *   whether a rule has moved the time of the record, perhaps behind the end of its lifetime
    */
  def problem(record: UnsafeRow, isAdjusted: Boolean): Option[DeadLetterReason] =
    if (hasEdges) problemOfEdge(record, operatorPlan.settings.window, edges.get)
    else if (hasLifetime) problemOfEnd(record, operatorPlan.settings.window, isAdjusted)
    else if (hasGap) problemOfGap(record)
    else if (isListed) problemOfWindows(record)
    else None

  /** Sets the gap, the windows or the end of a row that `problem` has accepted. */
  def read(row: Event.Row): Unit =
    if (hasLifetime || hasEdges || hasGap || isListed) {
      record.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
      if (hasLifetime) row.arrival.end = endOf(record.getLong(Column))
      else if (hasEdges) row.arrival.end = endOf(edgeOf(record).getLong(0))
      else if (hasGap) row.arrival.gap = record.getLong(Column)
      else row.arrival.windows = windowsOf(record)
    }

  private def endOf(end: Long): Long =
    if (end == Arrival.NoEnd) end else operatorPlan.convention.timeIn(end)
}

/** Reads gaps and windows. */
object RowWindowReader {
  private[transom] final val Column = 1

  /** The time of a record is in its first column. */
  private[transom] def problemOfEnd(
      record: UnsafeRow,
      window: spec.Window,
      isAdjusted: Boolean): Option[DeadLetterReason] = {
    def end = record.getLong(Column)
    def start = if (isAdjusted) Long.MinValue else record.getLong(0)
    if (record.isNullAt(Column) || !RowRules.isLifetime(start, end))
      Some(DeadLetterReason.BadLifetime)
    else
      Option.when(RowRules.overlapsTooMany(window, record.getLong(0), end))(
        DeadLetterReason.TooManyWindows)
  }

  /** A rule may have moved the time of a record, but not its edge. */
  private[transom] def problemOfEdge(
      record: UnsafeRow,
      window: spec.Window,
      lifetime: spec.Lifetime): Option[DeadLetterReason] =
    if (record.isNullAt(Column)) Some(DeadLetterReason.BadLifetime)
    else {
      val end = edgeOf(record).getLong(0)
      val start = idOf(record, 1).getLong(0)
      val last = (end, lifetime.timeoutUs) match {
        case (Arrival.NoEnd, Some(timeout)) => start + timeout
        case _ => end
      }
      if (!RowRules.isLifetime(start, end)) Some(DeadLetterReason.BadLifetime)
      else
        Option.when(RowRules.overlapsTooMany(window, start, last))(
          DeadLetterReason.TooManyWindows)
    }

  private def edgeOf(record: UnsafeRow): UnsafeRow = record.getStruct(Column, 2)

  /** The id of the lifetime that a record starts or ends: the time and further columns.
    *
    * @param width
    *   the number of columns
    */
  private[transom] def idOf(record: UnsafeRow, width: Int): UnsafeRow =
    edgeOf(record).getStruct(1, width)

  private[transom] def problemOfGap(record: UnsafeRow): Option[DeadLetterReason] =
    if (!record.isNullAt(Column) && RowRules.isGap(record.getLong(Column))) None
    else Some(DeadLetterReason.BadGap)

  private[transom] def problemOfWindows(record: UnsafeRow): Option[DeadLetterReason] =
    if (record.isNullAt(Column)) Some(DeadLetterReason.BadWindows)
    else problemOf(record.getArray(Column))

  private def problemOf(list: ArrayData): Option[DeadLetterReason] = {
    def areWindows = (0 until list.numElements()).forall { i =>
      !list.isNullAt(i) && {
        val bounds = list.getStruct(i, 2)
        !bounds.isNullAt(0) && !bounds.isNullAt(1) &&
        RowRules.isWindow(bounds.getLong(0), bounds.getLong(1))
      }
    }
    if (list.numElements() > RowRules.MostWindows) Some(DeadLetterReason.TooManyWindows)
    else if (areWindows) None
    else Some(DeadLetterReason.BadWindows)
  }

  private def windowsOf(record: UnsafeRow): Seq[TimeWindow] = {
    val list = record.getArray(Column)
    (0 until list.numElements()).map { i =>
      val bounds = list.getStruct(i, 2)
      TimeWindow(bounds.getLong(0), bounds.getLong(1))
    }.distinct
  }
}
