package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction

import transom.engine.spec._
import transom.spark.TransomException

/** How the state of an operator is laid out. */
sealed abstract class StateLayout(val name: String) extends Serializable

/** Segments by key group and slice: no state of single keys. */
case object SliceLayout extends StateLayout("slices")

/** An entry for each key. */
case object KeyedLayout extends StateLayout("keyed")

/** The layout of an operator.
  *
  * @param unsupportedBySlices
  *   the part of the spec that the slice log cannot run, in Python's words; none if it can run
  *   all
  */
final case class LayoutChoice(layout: StateLayout, unsupportedBySlices: Option[String])

/** Chooses the layout of the state that an operator needs. */
object Layouts {

  /** The slice log wherever it can run the spec, unless the user asks for the keyed layout.
    * Throws `TRANSOM_LAYOUT_UNSUPPORTED` if the user asks for the slice log and it cannot.
    *
    * @param functions
    *   the user's aggregates, which are resolved only if the spec names an order
    */
  def choose(spec: WindowSpec, functions: => Seq[AggregateFunction]): LayoutChoice = {
    val part = unsupportedBySlices(spec).orElse(ordered(spec, functions))
    if (spec.layout == Layout.Slices)
      part.foreach { part =>
        throw new TransomException("TRANSOM_LAYOUT_UNSUPPORTED", Map("part" -> part))
      }
    val isKeyed = spec.layout == Layout.Keyed || part.isDefined
    LayoutChoice(if (isKeyed) KeyedLayout else SliceLayout, part)
  }

  /** The slice log merges partial aggregates in no particular order. */
  private def ordered(spec: WindowSpec, functions: => Seq[AggregateFunction]): Option[String] =
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

  /** What comes late fires nothing: with a lateness, the operator is beyond slices for that
    * alone.
    */
  private def firesFromSlices(spec: WindowSpec): Boolean = (spec.window, spec.trigger) match {
    case (Global, trigger) => trigger == EndOfStream
    case (_, AfterWatermark(None, _)) => true
    case _ => false
  }

  /** Whether the keyed layout can take rows of a slice as one, as long as they come in time. */
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
