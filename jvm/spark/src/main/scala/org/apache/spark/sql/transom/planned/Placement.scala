package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions.Attribute

import transom.engine.spec.WindowSpec
import transom.engine.window.PlacementColumn

/** The column that places a row in its windows, besides the time of the row. Windows that the
  * time alone defines have no such column.
  */
sealed trait Placement {
  def column: Attribute
}

/** The kinds of placement. */
object Placement {

  /** The session gap of the row, in microseconds. */
  final case class Gap(column: Attribute) extends Placement

  /** The windows of the row: structs of start and end, in microseconds since 1970. */
  final case class Listed(column: Attribute) extends Placement

  /** The end of the row's lifetime, in microseconds since 1970, or `RowContext.NoEnd`. Null if it
    * is unknown.
    */
  final case class End(column: Attribute) extends Placement

  /** A struct of an end, as [[End]] has it, and of the id of the lifetime that the row starts or
    * ends. Null if the end is unknown.
    */
  final case class Edge(column: Attribute) extends Placement

  /** The placement that a spec needs; none if the time is enough.
    *
    * @param column
    *   the column of the rows
    */
  def of(spec: WindowSpec, column: Attribute): Option[Placement] =
    if (spec.hasEdges) Some(Edge(column))
    else if (spec.lifetime.isDefined) Some(End(column))
    else
      spec.window.placementColumn.map {
        case _: PlacementColumn.Gap => Gap(column)
        case _: PlacementColumn.Listed => Listed(column)
      }
}
