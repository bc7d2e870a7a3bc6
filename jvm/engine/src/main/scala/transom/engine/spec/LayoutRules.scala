package transom.engine.spec

import transom.engine.firing.{AfterCount, AfterDelta, AfterLateness, AfterWatermark, EndOfStream}
import transom.engine.window._

/** Decides what the state layouts can do with a spec. */
object LayoutRules {

  /** The first part of the spec that the slice log does not support, in the words of the Python
    * API. None if the slice log supports the whole spec.
    */
  def unsupportedBySlices(spec: WindowSpec): Option[String] = {
    def part(applies: Boolean, name: => String): Option[String] = Option.when(applies)(name)
    spec.window.slices.left.toOption
      .orElse(part(spec.lifetime.isDefined, "lifetimes"))
      .orElse(part(spec.changesOnly, "changes_only()"))
      .orElse(part(spec.time.contains(ProcessingTime), "ProcessingTime()"))
      // Each key has the watermark of its substream, but a log has one watermark.
      .orElse(part(spec.hasSubstreams, "over in the TimePolicy"))
      .orElse(part(closesBetweenRows(spec), "sessions over a TimePolicy"))
      .orElse(part(!firesFromSlices(spec), s"the trigger ${nameOf(spec.trigger)}"))
      .orElse(part(spec.allowedLatenessUs > 0, "an allowed_lateness() above 0"))
      .orElse(part(spec.evictor.isDefined, "evictor()"))
      .orElse(part(spec.retract, "retract()"))
      .orElse(part(spec.pane, "with_pane()"))
      .orElse(part(spec.function.takesRows, "apply() without agg="))
      .orElse(part(spec.function.keepsByWindow, "window_state"))
  }

  /** Whether the keyed layout may process the on-time rows of a key and slice as one accumulator.
    * The host also checks that no aggregate depends on the order of rows. Behind a time stage
    * windows fire between the rows of a batch, so the map side must not hold rows back.
    */
  def canCombineSlices(spec: WindowSpec): Boolean = {
    val isAligned =
      spec.window.isInstanceOf[GridWindow] && spec.window.stagger == Stagger.Aligned
    val firesOnceInTime = spec.trigger match {
      case AfterWatermark(None, None | Some(_: AfterCount)) | AfterLateness => true
      case _ => false
    }
    isAligned && firesOnceInTime && !spec.isSwept &&
    spec.evictor.isEmpty && !spec.function.takesRows &&
    spec.orderColumns.isEmpty && spec.policy.isEmpty
  }

  /** Whether the keyed layout keeps rows in its state, besides accumulators: those of windows, or
    * the row of the last firing that `AfterDelta` compares with.
    */
  def keepsRows(spec: WindowSpec): Boolean =
    spec.function.takesRows || spec.evictor.isDefined ||
      spec.trigger.parts.exists(_.isInstanceOf[AfterDelta]) ||
      spec.window.members.exists { member =>
        member.ownEvictor.isDefined || spec.copy(window = member).isSwept
      }

  /** Whether windows depend on the order of rows within a batch. Behind a time stage a session
    * may close between two rows of a batch, and the second row may touch it.
    */
  private def closesBetweenRows(spec: WindowSpec): Boolean =
    spec.window.isSession && spec.policy.isDefined

  /** Whether the slice log can fire windows as the trigger requires. A late trigger does not
    * matter: without an allowed lateness it never fires, and the slice log supports no allowed
    * lateness.
    */
  private def firesFromSlices(spec: WindowSpec): Boolean = spec.trigger match {
    case EndOfStream => spec.window.isEndless
    case AfterWatermark(None, _) => !spec.window.isEndless
    case _ => false
  }

  private def nameOf(part: AnyRef): String = part.getClass.getSimpleName.stripSuffix("$")
}
