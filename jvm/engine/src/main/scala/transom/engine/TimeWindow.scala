package transom.engine

/** The times from `start` up to but not including `end`, in microseconds. */
final case class TimeWindow(start: Long, end: Long) {

  def contains(time: Long): Boolean = start <= time && time < end

  def covers(other: TimeWindow): Boolean = start <= other.start && other.end <= end

  /** Whether the two share an instant or touch, as sessions exactly one gap apart do. */
  def intersects(other: TimeWindow): Boolean = start <= other.end && other.start <= end

  /** Whether the two share an instant; touching is not enough. */
  def overlaps(other: TimeWindow): Boolean = start < other.end && other.start < end

  /** The smallest window that covers both. */
  def cover(other: TimeWindow): TimeWindow =
    TimeWindow(Math.min(start, other.start), Math.max(end, other.end))
}
