package org.apache.spark.sql.transom

import transom.engine.spec._
import transom.spark.TransomException

/** How the state of a stage is laid out. */
sealed abstract class StageLayout(val name: String) extends Serializable

/** Segments by key group and pane: no state of single keys. */
case object PaneLayout extends StageLayout("panes")

/** An entry for each key. */
case object KeyedLayout extends StageLayout("keyed")

/** Chooses the layout of the state that a stage needs. */
object Layouts {

  def of(spec: WindowSpec): StageLayout =
    if (spec.layout == Layout.Keyed || beyondPanes(spec).isDefined) KeyedLayout else PaneLayout

  /** Refuses a layout that cannot do what is asked. */
  def check(spec: WindowSpec): Unit =
    if (spec.layout == Layout.Panes)
      beyondPanes(spec).foreach { part =>
        throw new TransomException("TRANSOM_LAYOUT_UNSUPPORTED", Map("part" -> part))
      }

  /** What keeps a stage from the pane log, in Python's words; none if nothing does. */
  def beyondPanes(spec: WindowSpec): Option[String] = {
    def reason(applies: Boolean, part: => String): Option[String] =
      if (applies) Some(part) else None
    beyondPanes(spec.window)
      .orElse(reason(spec.time.contains(ProcessingTime), "ProcessingTime()"))
      .orElse(reason(!firesFromPanes(spec), s"the trigger ${nameOf(spec.trigger)}"))
      .orElse(reason(spec.allowedLatenessUs > 0, "an allowed_lateness() above 0"))
      .orElse(reason(spec.evictor.isDefined, "evictor()"))
      .orElse(reason(spec.retract, "retract()"))
      .orElse(reason(spec.pane, "with_pane()"))
      .orElse(reason(spec.function.takesRows, "apply() without agg="))
      .orElse(reason(spec.function.keepsByWindow, "window_state"))
  }

  private def beyondPanes(window: Window): Option[String] = window match {
    case staggered if staggered.stagger != Stagger.Aligned =>
      Some("the stagger of Tumbling windows")
    case _: GridWindow | _: Session | Global => None
    case _: DynamicSession => Some("a gap for each row")
    case other => Some(s"${nameOf(other)} windows")
  }

  /** What comes late fires nothing: with a lateness, the stage is beyond panes for that alone. */
  private def firesFromPanes(spec: WindowSpec): Boolean = (spec.window, spec.trigger) match {
    case (Global, trigger) => trigger == EndOfStream
    case (_, AfterWatermark(None, _)) => true
    case _ => false
  }

  /** Whether the keyed layout can take rows of a pane as one, as long as they come in time. */
  def takesPanes(spec: WindowSpec): Boolean = {
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
