package transom.engine.conformance.vector

import transom.engine.window.TimeWindow

/** Converts the milliseconds of a vector to the engine's ticks.
  *
  * A tick is a microsecond. A few vectors use milliseconds near the bounds of `Long`. The engine
  * does not depend on the unit, so a tick of these vectors is a millisecond.
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

  /** A window in the form of the vectors. */
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
