package transom.engine.window

/** A time interval from `start` (inclusive) to `end` (exclusive), in microseconds. */
final case class TimeWindow(start: Long, end: Long) {

  def contains(time: Long): Boolean = start <= time && time < end

  /** Whether `other` lies completely within this window. */
  def contains(other: TimeWindow): Boolean = start <= other.start && other.end <= end

  /** The smallest window that covers both windows. */
  def union(other: TimeWindow): TimeWindow =
    TimeWindow(Math.min(start, other.start), Math.max(end, other.end))
}
