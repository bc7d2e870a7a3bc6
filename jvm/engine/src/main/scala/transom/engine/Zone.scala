package transom.engine

import java.time.{Instant, LocalDateTime, ZoneId, ZoneOffset}

/** Wall-clock time of a place, as microseconds that a clock there would show since 1970-01-01
  * 00:00.
  *
  * Where clocks go forward some wall-clock times never come, where they go back some come twice.
  * `first` and `passed` bound all instants that show a given span, so that no row lies outside
  * the instants of its window.
  */
final class Zone private (val id: ZoneId) extends Serializable {

  @transient private lazy val rules = id.getRules
  private val isUtc = id.getRules.isFixedOffset &&
    id.getRules.getOffset(Instant.EPOCH) == ZoneOffset.UTC

  // One reference to an immutable value: a race between threads costs a look-up, nothing else.
  @transient private var lastSpan: Zone.Span = _

  /** What the clock shows at `instant`. */
  def local(instant: Long): Long =
    if (isUtc) instant else Ticks.add(instant, spanOf(instant).offset)

  /** The first instant at which the clock shows `local` or, if it is skipped, a later time. */
  def first(local: Long): Long = if (isUtc) local else atTransition(local, passed = false)

  /** The first instant from which on the clock never shows a time before `local` again. */
  def passed(local: Long): Long = if (isUtc) local else atTransition(local, passed = true)

  /** The earliest time that the clock shows at `instant` or later: a window that ends at or
    * before it gets no more rows.
    */
  def reached(instant: Long): Long =
    if (isUtc || instant == Long.MaxValue) instant
    else {
      var span = spanOf(instant)
      var earliest = Ticks.add(instant, span.offset)
      // No clock ever went back by more than a day, so later changes cannot matter.
      while (span.end != Long.MaxValue && span.end <= Ticks.add(instant, Ticks.PerDay)) {
        span = findSpan(span.end)
        earliest = Math.min(earliest, Ticks.add(span.start, span.offset))
      }
      earliest
    }

  private def spanOf(instant: Long): Zone.Span = {
    val cached = lastSpan
    if (cached != null && cached.start <= instant && instant < cached.end) cached
    else {
      val found = findSpan(instant)
      lastSpan = found
      found
    }
  }

  private def findSpan(micros: Long): Zone.Span = {
    val instant = Zone.toInstant(micros)
    val before = rules.previousTransition(instant.plusNanos(1))
    val after = rules.nextTransition(instant)
    Zone.Span(
      if (before == null) Long.MinValue else Zone.toMicros(before.toEpochSecond),
      if (after == null) Long.MaxValue else Zone.toMicros(after.toEpochSecond),
      rules.getOffset(instant).getTotalSeconds * Ticks.PerSecond)
  }

  private def atTransition(local: Long, passed: Boolean): Long = {
    val shown = LocalDateTime.ofEpochSecond(
      Math.floorDiv(local, Ticks.PerSecond),
      (Math.floorMod(local, Ticks.PerSecond) * 1000).toInt,
      ZoneOffset.UTC)
    val transition = rules.getTransition(shown)
    if (transition == null) minus(local, rules.getOffset(shown))
    else if (transition.isGap) Zone.toMicros(transition.toEpochSecond)
    else if (passed && shown.isAfter(transition.getDateTimeAfter)) {
      minus(local, transition.getOffsetAfter)
    } else minus(local, transition.getOffsetBefore)
  }

  private def minus(local: Long, offset: ZoneOffset): Long =
    Ticks.subtract(local, offset.getTotalSeconds * Ticks.PerSecond)

  override def equals(other: Any): Boolean = other match {
    case that: Zone => id == that.id
    case _ => false
  }

  override def hashCode: Int = id.hashCode

  override def toString: String = id.toString
}

object Zone {

  val Utc: Zone = new Zone(ZoneOffset.UTC)

  /** The zone of a name that Spark's session time zone would take. */
  def of(name: String): Zone = new Zone(ZoneId.of(name, ZoneId.SHORT_IDS))

  /** Instants from `start` to before `end` at which the clock is `offset` ahead of UTC. */
  private final case class Span(start: Long, end: Long, offset: Long)

  private def toInstant(micros: Long): Instant =
    Instant.ofEpochSecond(
      Math.floorDiv(micros, Ticks.PerSecond),
      Math.floorMod(micros, Ticks.PerSecond) * 1000)

  private def toMicros(seconds: Long): Long =
    if (seconds > Long.MaxValue / Ticks.PerSecond) Long.MaxValue
    else if (seconds < Long.MinValue / Ticks.PerSecond) Long.MinValue
    else seconds * Ticks.PerSecond
}
