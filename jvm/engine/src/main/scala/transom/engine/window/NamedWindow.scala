package transom.engine.window

import java.util.Locale

import transom.engine.setting.Check

/** A member of [[Windows]].
  *
  * @param id
  *   the name of the window in results, if it has one
  */
final case class NamedWindow(id: Option[String], window: Window)

/** Checks members. */
object NamedWindow {

  /** Rejects members that cannot be computed together, and ids that are not unique (Z-38). */
  private[window] def check(members: Seq[NamedWindow]): Unit = {
    val ids = members.flatMap(_.id)
    Check.that("windows", members.nonEmpty, "must hold at least one window")
    Check.that("windows", ids.isEmpty || ids.length == members.length, "have ids on some only")
    Check.that("windows", !ids.exists(_.isEmpty), "have an empty id")
    Check.that(
      "windows",
      ids.distinctBy(_.toLowerCase(Locale.ROOT)).length == ids.length,
      "have ids that are equal but for upper and lower case")
    members.foreach(member =>
      Check.that("windows", isAccepted(member.window), s"cannot hold ${member.window}"))
  }

  /** Whether windows have an end, and neither a column nor the key group defines them. */
  private def isAccepted(window: Window): Boolean =
    window.stagger == Stagger.Aligned && window.lateStart == LateStart.Open && (window match {
      case _: GridWindow | _: Session | _: SweptWindow => true
      case _ => false
    })
}
