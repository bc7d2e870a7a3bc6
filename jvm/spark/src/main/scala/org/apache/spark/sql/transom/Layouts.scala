package org.apache.spark.sql.transom

import transom.engine.spec._
import transom.spark.TransomException

/** Tells which layout of the state a stage needs. */
object Layouts {

  /** Refuses what no layout runs in this version. */
  def check(spec: WindowSpec): Unit = beyondPanes(spec).foreach { part =>
    throw new TransomException("TRANSOM_LAYOUT_UNSUPPORTED", Map("part" -> part))
  }

  /** What keeps a stage from the pane log, in Python's words; none if nothing does. */
  def beyondPanes(spec: WindowSpec): Option[String] = {
    def reason(applies: Boolean, part: => String): Option[String] =
      if (applies) Some(part) else None
    reason(spec.layout == Layout.Keyed, "options(layout='keyed')")
      .orElse(reason(spec.time.contains(ProcessingTime), "ProcessingTime()"))
      .orElse(beyondPanes(spec.window))
      .orElse(reason(!firesFromPanes(spec), s"the trigger ${nameOf(spec.trigger)}"))
      .orElse(reason(spec.allowedLatenessUs > 0, "an allowed_lateness() above 0"))
      .orElse(reason(spec.evictor.isDefined, "evictor()"))
      .orElse(reason(spec.retract, "retract()"))
      .orElse(reason(spec.pane, "with_pane()"))
  }

  private def beyondPanes(window: Window): Option[String] = window match {
    case Tumbling(_, _, _, _, stagger) if stagger != Stagger.Aligned =>
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

  private def nameOf(part: AnyRef): String = part.getClass.getSimpleName.stripSuffix("$")
}
