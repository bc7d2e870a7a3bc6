package transom.engine.conformance.check

import java.time.Instant

import transom.engine.conformance.vector.{Json, Malformed}
import transom.engine.window._

/** Reads the windows of vectors of Atlas, Azure Stream Analytics and StreamInsight.
  *
  * @param closed
  *   which of their bounds windows include
  * @param perMillisecond
  *   how many of the engine's units of time a millisecond has
  */
final class VectorWindows(closed: Closed, perMillisecond: Long) {

  /** One window, or several in one pass. */
  def of(windows: Json): Window =
    if (VectorWindows.isSeveral(windows))
      Windows(windows.elements.map(member =>
        NamedWindow(member.get("id").map(_.string), single(member))))
    else single(windows)

  private def single(windows: Json): Window = {
    def length(name: String) = windows(name).long * perMillisecond
    windows("type").string match {
      case "snapshot" => Snapshot(closed)
      case "sliding" => Rolling(length("size_ms"))
      case "count" => CountByStart(windows("n").long.toInt)
      case "tumbling" =>
        Tumbling(length("size_ms"), offset(windows, length("size_ms")), closed)
      case "hopping" =>
        val hop = length("hop_ms")
        Hopping(length("size_ms"), hop, offset(windows, hop), closed)
      case "session" =>
        Session(
          length("timeout_ms"),
          closed = closed,
          maxDurationUs = Some(length("max_duration_ms")),
          maxCheck = windows.get("max_duration_check").fold("ge")(_.string) match {
            case "ge" => MaxCheck.AtLeast
            case "gt" => MaxCheck.Above
            case other => throw new Malformed(s"unknown check $other")
          })
      case other => throw new Malformed(s"windows of unknown type $other")
    }
  }

  private def offset(windows: Json, period: Long): Long = windows
    .get("alignment")
    .map { alignment =>
      val micros = GridModel.toMicros(Instant.parse(alignment.string))
      Math.floorMod(micros / (1000L / perMillisecond), period)
    }
    .orElse(windows.get("offset_ms").map(_.long * perMillisecond))
    .getOrElse(0L)
}

object VectorWindows {

  private[check] def isSeveral(windows: Json): Boolean = windows.value.isInstanceOf[Vector[_]]
}
