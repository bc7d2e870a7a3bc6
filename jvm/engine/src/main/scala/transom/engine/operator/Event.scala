package transom.engine.operator

import transom.engine.state.ByteRange
import transom.engine.window.Arrival

/** Something that happens to a key group.
  *
  * The host reads events from its exchange, in order of arrival. It may reuse an instance, so an
  * event is valid until the next one is read. The arrays behind its ranges are never changed.
  * Times and watermarks are the engine's, see [[transom.engine.window.TimeConvention]].
  */
sealed abstract class Event

/** The events of a key group. */
object Event {

  /** Rows that are not late, combined into one accumulator per key and slice, or per key and
    * session.
    */
  final class Segment extends Event {

    /** Start of the slice. The session log ignores it. */
    var slice: Long = 0L

    /** The accumulators, sorted by key, in the format of a segment. */
    var bytes: Array[Byte] = Array.emptyByteArray

    /** The watermark by which rows of this batch are late. */
    var lateWatermark: Long = 0L
  }

  /** A single row. */
  final class Row extends Event {
    val key = new ByteRange

    /** What aggregates, triggers and evictors read: the row's own columns, or the accumulator of
      * this row alone if the map side combines rows.
      */
    val value = new ByteRange

    /** The whole input row for the side output of late rows; empty if there is none. */
    val input = new ByteRange

    /** The times and windows of the row. Its `watermark` is the one by which the row is late. */
    val arrival = new Arrival

    /** Whether the row has been combined already, and comes only because some of its windows had
      * fired.
      */
    var isPartlyLate: Boolean = false

    /** A copy that stays valid. It shares the arrays of the ranges. */
    def copy(): Row = {
      val row = new Row
      row.key.set(key)
      row.value.set(value)
      row.input.set(input)
      row.arrival.set(arrival)
      row.isPartlyLate = isPartlyLate
      row
    }
  }

  /** A row that cannot be assigned to a window. */
  final class DeadLetter extends Event {
    val input = new ByteRange
    var reason: DeadLetterReason = DeadLetterReason.NoTime

    /** The time of the row in microseconds since 1970; none if it has no usable time. */
    var time: Option[Long] = None
    var lateWatermark: Long = 0L
  }

  /** What the map side of one task has counted, as bytes of [[RowCounts]]. */
  final class Counts(val bytes: Array[Byte]) extends Event

  /** A tick of the wall clock: timers by the wall clock are due. */
  case object Tick extends Event

  /** The watermark by which windows fire. It is the last event of a batch. */
  final class Watermark(val time: Long) extends Event
}
