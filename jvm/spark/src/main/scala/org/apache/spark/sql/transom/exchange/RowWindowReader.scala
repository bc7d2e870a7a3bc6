package org.apache.spark.sql.transom.exchange

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.transom.aggregate.UnsafeRows
import org.apache.spark.sql.transom.planned.{Placement, WindowOperatorPlan}

import transom.engine.runtime.{DeadLetterReason, GroupInput, RowRules}
import transom.engine.spec.Lifetime
import transom.engine.window.{RowContext, TimeWindow, Window}

/** Reads the placement of a record, which is its second column, see [[Placement]]. */
final class RowWindowReader(operatorPlan: WindowOperatorPlan) {
  import RowWindowReader._
  import operatorPlan.{convention, spec}

  private val record = new UnsafeRow(operatorPlan.record.length)
  private val placement = operatorPlan.placement

  /** Whether each row lists its windows. */
  val isListed: Boolean = placement.exists(_.isInstanceOf[Placement.Listed])

  /** Why the placement of a record is invalid; none if it is valid.
    *
    * @param isAdjusted
    *   whether a rule has moved the time of the record, perhaps behind the end of its lifetime
    */
  def problem(record: UnsafeRow, isAdjusted: Boolean): Option[DeadLetterReason] =
    placement match {
      case None => None
      case Some(_: Placement.Gap) => problemOfGap(record)
      case Some(_: Placement.Listed) => problemOfWindows(record)
      case Some(_: Placement.End) => problemOfEnd(record, spec.window, isAdjusted)
      case Some(_: Placement.Edge) =>
        problemOfEdge(record, spec.window, spec.lifetime.get)
    }

  /** Sets the gap, the windows or the end of a row that `problem` has accepted. */
  def read(row: GroupInput.Row): Unit =
    placement match {
      case None =>
      case Some(_: Placement.Gap) => row.context.gap = view(row).getLong(Column)
      case Some(_: Placement.Listed) => row.context.windows = windowsOf(view(row))
      case Some(_: Placement.End) => row.context.end = endOf(view(row).getLong(Column))
      case Some(_: Placement.Edge) => row.context.end = endOf(edgeOf(view(row)).getLong(0))
    }

  private def view(row: GroupInput.Row): UnsafeRow = {
    record.pointTo(row.value.bytes, UnsafeRows.offset(row.value), row.value.length)
    record
  }

  private def endOf(end: Long): Long =
    if (end == RowContext.NoEnd) end else convention.timeIn(end)
}

/** Reads gaps and windows. */
object RowWindowReader {
  private[transom] final val Column = 1

  /** The time of a record is in its first column. */
  private[transom] def problemOfEnd(
      record: UnsafeRow,
      window: Window,
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
      window: Window,
      lifetime: Lifetime): Option[DeadLetterReason] =
    if (record.isNullAt(Column)) Some(DeadLetterReason.BadLifetime)
    else {
      val end = edgeOf(record).getLong(0)
      val start = idOf(record, 1).getLong(0)
      val last = (end, lifetime.timeoutUs) match {
        case (RowContext.NoEnd, Some(timeout)) => start + timeout
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
