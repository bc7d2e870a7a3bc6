package transom.engine.conformance

import transom.engine.spec._
import transom.engine.window.TimeWindow

/** How the milliseconds of a vector become microseconds.
  *
  * A few vectors try the ends of `Long` in milliseconds. Nothing in the engine depends on the
  * unit, so these run with a millisecond for a tick.
  */
final class Scale private (ticks: Long) {

  /** One millisecond. */
  val unit: Long = ticks

  def in(millis: Long): Long =
    if (millis == Long.MaxValue || millis == Long.MinValue) millis
    else Math.multiplyExact(millis, ticks)

  def out(time: Long): Long = Math.floorDiv(time, ticks)

  def window(json: Json): TimeWindow = json.elements match {
    case Seq(start, end) => TimeWindow(in(start.long), in(end.long))
    case _ => throw new Malformed(s"a window has a start and an end, not $json")
  }

  /** As in the vectors. */
  def show(window: TimeWindow): Any = Vector(out(window.start), out(window.end))
}

object Scale {

  private val Reach = Long.MaxValue / 4000

  def of(vector: Json): Scale = {
    val far = vector.integers.exists { number =>
      number != Long.MaxValue && number != Long.MinValue && (number > Reach || number < -Reach)
    }
    new Scale(if (far) 1 else 1000)
  }
}

/** Reads the windows of a vector. */
object Settings {

  /** A grid of fixed windows; `settings` are looked up in order. */
  def grid(scale: Scale, zone: String, settings: Json*): GridWindow = {
    def found(name: String) = settings.flatMap(_.get(name)).headOption
    def micros(name: String) =
      scale.in(found(name).getOrElse(throw new Malformed(s"windows have no field $name")).long)
    val offset = found("offset_ms").fold(0L)(json => scale.in(json.long))
    settings.last("type").string match {
      case "tumbling" => Tumbling(micros("size_ms"), offset, timeZone = zone)
      case "sliding" => Hopping(micros("size_ms"), micros("slide_ms"), offset, timeZone = zone)
      case "cumulate" =>
        Cumulate(micros("max_size_ms"), micros("step_ms"), offset, timeZone = zone)
      case other => throw new Malformed(s"windows of type $other are not on a grid")
    }
  }
}
