package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.function.RowOrder

import transom.engine.spec.{Layout, LayoutRules, WindowSpec}

/** The layout of an operator's state in the state store. */
sealed abstract class StateLayout(val name: String) extends Serializable

/** The slice log: segments by key group and slice, without entries per key. */
case object SliceLayout extends StateLayout("slices")

/** The keyed layout: one entry per key. */
case object KeyedLayout extends StateLayout("keyed")

/** The layout of an operator, and why it is not the slice log.
  *
  * @param unsupportedBySlices
  *   the part of the spec that the slice log does not support, named as in the Python API; none
  *   if it supports all
  */
final case class LayoutChoice(layout: StateLayout, unsupportedBySlices: Option[String])

/** Chooses the state layout of an operator. */
object Layouts {

  /** Returns the slice log if it supports the spec, unless the user asks for the keyed layout.
    * Throws `TRANSOM_LAYOUT_UNSUPPORTED` if the user asks for the slice log and it does not
    * support the spec.
    *
    * @param functions
    *   the functions of the user's aggregates
    */
  def choose(spec: WindowSpec, functions: Seq[AggregateFunction]): LayoutChoice = {
    val part = LayoutRules.unsupportedBySlices(spec).orElse(ordered(spec, functions))
    if (spec.layout == Layout.Slices)
      part.foreach { part =>
        throw new TransomException("TRANSOM_LAYOUT_UNSUPPORTED", Map("part" -> part))
      }
    val isKeyed = spec.layout == Layout.Keyed || part.isDefined
    LayoutChoice(if (isKeyed) KeyedLayout else SliceLayout, part)
  }

  /** The first aggregate that depends on the order of rows, if the spec names an order. The slice
    * log merges accumulators in no particular order.
    */
  private def ordered(spec: WindowSpec, functions: Seq[AggregateFunction]): Option[String] =
    if (spec.orderColumns.isEmpty) None
    else
      functions
        .find(!RowOrder.isWaived(_))
        .map(function => s"${function.prettyName}() in the order of stream(order=)")
}
