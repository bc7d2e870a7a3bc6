package transom.engine.conformance.driver

import transom.engine.conformance.vector.Json
import transom.engine.keyed.contract.{Change, PaneInfo}
import transom.engine.runtime.SideReason
import transom.engine.window.TimeWindow

/** An output of an operator. */
sealed trait Output

/** The result of a window: its values in order of arrival.
  *
  * @param reported
  *   the results that are inserted, retracted or updated, if the operator emits changes
  * @param member
  *   the number of the member, for several windows in one pass
  */
final case class Fired(
    key: Json,
    window: TimeWindow,
    values: Seq[Json],
    pane: Option[PaneInfo] = None,
    change: Option[Change] = None,
    reported: Option[Seq[Any]] = None,
    member: Int = 0)
    extends Output

/** A window that has been removed. */
final case class Ended(window: TimeWindow) extends Output

/** The watermark of the results. */
final case class ResultWatermark(time: Long) extends Output

/** A row in a side output, identified by its number. */
final case class SideRow(
    row: Long,
    reason: SideReason,
    missed: Seq[TimeWindow],
    time: Option[Long],
    watermark: Option[Long])
    extends Output
