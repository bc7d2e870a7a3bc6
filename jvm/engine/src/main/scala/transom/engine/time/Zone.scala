package transom.engine.time

import java.time.{Instant, LocalDateTime, ZoneId, ZoneOffset}

/** Converts between instants and the wall-clock time of a time zone, both in microseconds.
  *
  * Wall-clock time counts from 1970-01-01 00:00 local time. When clocks go forward, some
  * wall-clock times never occur. When clocks go back, some occur twice. `first` and `passed`
  * bound all instants that show a given span, so no row lies outside the instants of its window.
  *
  * Thread-safe: the only mutable field is a cache.
  */
final class Zone private (val id: ZoneId) extends Serializable {

  @transient private lazy val rules = id.getRules
  private val isUtc = id.getRules.isFixedOffset &&
    id.getRules.getOffset(Instant.EPOCH) == ZoneOffset.UTC

  // A cache of one immutable value: a race between threads only costs a lookup.
  @transient private var lastSpan: Zone.Span = _

  /** The wall-clock time at `instant`. */
  def local(instant: Long): Long =
    if (isUtc) instant else Ticks.add(instant, spanOf(instant).offset)

  /** The first instant at which the wall clock shows `local`. If clocks skip `local`, this is the
    * instant of the skip.
    */
  def first(local: Long): Long = if (isUtc) local else atTransition(local, passed = false)

  /** The first instant after which the wall clock never shows a time before `local` again. */
  def passed(local: Long): Long = if (isUtc) local else atTransition(local, passed = true)

  /** The earliest wall-clock time at `instant` or later. A window that ends by this time receives
    * no more rows.
    */
  def reached(instant: Long): Long =
    // The ends of time need no lookup, which would replace the cached span.
    if (isUtc || instant == Long.MaxValue || instant == Long.MinValue) instant
    else {
      var span = spanOf(instant)
      var earliest = Ticks.add(instant, span.offset)
      // Clocks never went back by more than a day, so later transitions do not matter.
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
    new Zone.Span(
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

/** Creates zones. */
object Zone {

  val Utc: Zone = new Zone(ZoneOffset.UTC)

  /** Returns the zone with a name, as Spark's session time zone accepts it. Throws
    * `DateTimeException` if the name is unknown.
    */
  def of(name: String): Zone = new Zone(ZoneId.of(name, ZoneId.SHORT_IDS))

  /** A span of instants with one offset from UTC, in microseconds. `end` is exclusive. */
  private final class Span(val start: Long, val end: Long, val offset: Long)

  private def toInstant(micros: Long): Instant =
    Instant.ofEpochSecond(
      Math.floorDiv(micros, Ticks.PerSecond),
      Math.floorMod(micros, Ticks.PerSecond) * 1000)

  private def toMicros(seconds: Long): Long =
    if (seconds > Long.MaxValue / Ticks.PerSecond) Long.MaxValue
    else if (seconds < Long.MinValue / Ticks.PerSecond) Long.MinValue
    else seconds * Ticks.PerSecond
}
