package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types.DataType

/** Positions and types of the columns that the tasks of a window operator emit.
  *
  * Each field except `types` is the position of a column, or the positions of a group of columns.
  * A field is none if the operator does not emit the column.
  *
  * @param types
  *   types of all columns, in order
  * @param keys
  *   the grouping columns
  * @param results
  *   the results of the functions
  * @param isLast
  *   whether the row is the last one of a call
  * @param row
  *   the row of the window that a user function receives
  * @param windowGone
  *   whether the row marks that a window is removed, without a call
  */
final case class OutputSchema(
    types: Seq[DataType],
    keys: Range,
    start: Int,
    end: Int,
    results: Range,
    windowId: Option[Int],
    pane: Option[Int],
    change: Option[Int],
    watermark: Option[Int],
    isLast: Option[Int],
    row: Option[Int],
    windowGone: Option[Int],
    late: Option[Int],
    deadLetter: Option[Int],
    watermarks: Option[Int]) {

  def width: Int = types.length

  /** The number of columns after the results. */
  def optionalWidth: Int = width - results.end

  /** The position of a column among the columns after the results. */
  def amongOptional(column: Int): Int = column - results.end
}

/** The columns that the tasks of a window operator emit, as attributes of its plan. */
final class OutputColumns(
    keys: Seq[Attribute],
    start: Attribute,
    end: Attribute,
    results: Seq[Attribute],
    windowId: Option[Attribute] = None,
    pane: Option[Attribute] = None,
    change: Option[Attribute] = None,
    watermark: Option[Attribute] = None,
    isLast: Option[Attribute] = None,
    row: Option[Attribute] = None,
    windowGone: Option[Attribute] = None,
    val late: Option[Attribute] = None,
    val deadLetter: Option[Attribute] = None,
    watermarks: Option[Attribute] = None) {

  /** The columns that a window emits when it fires, in order. */
  def ofWindow: Seq[Attribute] =
    keys ++ Seq(start, end) ++ results ++
      Seq(windowId, pane, change, watermark, isLast, row, windowGone).flatten

  /** The columns of side outputs, in order. They follow the columns of windows. */
  def ofSideOutputs: Seq[Attribute] = Seq(late, deadLetter, watermarks).flatten

  def schema: OutputSchema = {
    val ordinals = (ofWindow ++ ofSideOutputs).map(_.exprId).zipWithIndex.toMap
    def ordinal(column: Attribute): Int = ordinals(column.exprId)
    val afterBounds = ordinal(end) + 1
    OutputSchema(
      types = (ofWindow ++ ofSideOutputs).map(_.dataType),
      keys = keys.indices,
      start = ordinal(start),
      end = ordinal(end),
      results = afterBounds until afterBounds + results.length,
      windowId = windowId.map(ordinal),
      pane = pane.map(ordinal),
      change = change.map(ordinal),
      watermark = watermark.map(ordinal),
      isLast = isLast.map(ordinal),
      row = row.map(ordinal),
      windowGone = windowGone.map(ordinal),
      late = late.map(ordinal),
      deadLetter = deadLetter.map(ordinal),
      watermarks = watermarks.map(ordinal))
  }
}
