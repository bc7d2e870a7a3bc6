package org.apache.spark.sql.transom.operator

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.function.RowOrder

import transom.engine.spec._

/** The layout of an operator's state in the state store. */
sealed abstract class StateLayout(val name: String) extends Serializable

/** The slice log: segments by key group and slice, no entries of single keys. */
case object SliceLayout extends StateLayout("slices")

/** The keyed layout: one entry per key. */
case object KeyedLayout extends StateLayout("keyed")

/** The layout of an operator, and why it is not the slice log.
  *
  * @param unsupportedBySlices
  *   the part of the spec that the slice log does not support, in the words of the Python API;
  *   none if the slice log supports all
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
    val part = unsupportedBySlices(spec).orElse(ordered(spec, functions))
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

  private def unsupportedBySlices(spec: WindowSpec): Option[String] = {
    def reason(applies: Boolean, part: => String): Option[String] =
      if (applies) Some(part) else None
    unsupportedBySlices(spec.window)
      .orElse(reason(spec.time.contains(ProcessingTime), "ProcessingTime()"))
      .orElse(reason(!firesFromSlices(spec), s"the trigger ${nameOf(spec.trigger)}"))
      .orElse(reason(spec.allowedLatenessUs > 0, "an allowed_lateness() above 0"))
      .orElse(reason(spec.evictor.isDefined, "evictor()"))
      .orElse(reason(spec.retract, "retract()"))
      .orElse(reason(spec.pane, "with_pane()"))
      .orElse(reason(spec.function.takesRows, "apply() without agg="))
      .orElse(reason(spec.function.keepsByWindow, "window_state"))
  }

  private def unsupportedBySlices(window: Window): Option[String] = window match {
    case staggered if staggered.stagger != Stagger.Aligned =>
      Some("the stagger of Tumbling windows")
    case _: GridWindow | _: Session | Global => None
    case _: DynamicSession => Some("a gap for each row")
    case other => Some(s"${nameOf(other)} windows")
  }

  /** Whether the slice log can fire windows as the trigger requires. A late trigger does not
    * matter: without an allowed lateness it never fires, and the slice log supports no allowed
    * lateness.
    */
  private def firesFromSlices(spec: WindowSpec): Boolean = (spec.window, spec.trigger) match {
    case (Global, trigger) => trigger == EndOfStream
    case (_, AfterWatermark(None, _)) => true
    case _ => false
  }

  /** Whether the keyed layout may process the on-time rows of a key and slice as one accumulator.
    */
  def canCombineSlices(spec: WindowSpec): Boolean = {
    val isAligned =
      spec.window.isInstanceOf[GridWindow] && spec.window.stagger == Stagger.Aligned
    val firesOnceInTime = spec.trigger match {
      case AfterWatermark(None, None | Some(_: AfterCount)) => true
      case _ => false
    }
    isAligned && firesOnceInTime && spec.evictor.isEmpty && !spec.function.takesRows
  }

  private def nameOf(part: AnyRef): String = part.getClass.getSimpleName.stripSuffix("$")
}
