package transom.engine.runtime

import transom.engine.state.ByteRange
import transom.engine.time.Advance
import transom.engine.window.RowContext

/** An input of a key group: rows, punctuation, counts, a tick or a watermark.
  *
  * The host reads inputs from its exchange, in order of arrival. The host may reuse instances, so
  * an input is valid until the next one is read. The arrays behind its ranges are never changed.
  * Times and watermarks follow the engine's convention, see
  * [[transom.engine.window.TimeConvention]].
  */
sealed abstract class GroupInput

/** The kinds of inputs. */
object GroupInput {

  /** Rows that are not late, combined into one accumulator per key and slice, or per key and
    * session.
    */
  final class Segment extends GroupInput {

    /** Start of the slice. The session log ignores the slice. */
    var slice: Long = 0L

    /** The accumulators, sorted by key, in the format of a segment. */
    var bytes: Array[Byte] = Array.emptyByteArray

    /** The watermark by which rows of the segment are late. */
    var lateWatermark: Long = 0L

    /** Whether the segment is added only after the windows that end by `lateWatermark` have fired
      * in this batch. Its rows are late for these windows, and count in later ones.
      */
    var waits: Boolean = false
  }

  /** A single row. */
  final class Row extends GroupInput {
    val key = new ByteRange

    /** What aggregates, triggers and evictors read: the row's own columns, or the accumulator of
      * this row alone if the map side combines rows.
      */
    val value = new ByteRange

    /** The whole input row for the side output of late rows; empty if there is none. */
    val input = new ByteRange

    /** The times and windows of the row. Its `watermark` is the late watermark. */
    val context = new RowContext

    /** Whether the map side has already combined the row. It then sends the row only because some
      * windows of the row had fired.
      */
    var isPartlyLate: Boolean = false

    /** Returns a copy that stays valid. The copy has its own bytes, because the arrays of the
      * ranges also contain other rows.
      */
    def copy(): Row = {
      val row = new Row
      val bytes = new Array[Byte](key.length + value.length + input.length)
      var from = 0
      def copyRange(range: ByteRange, copied: ByteRange): Unit = {
        System.arraycopy(range.bytes, range.offset, bytes, from, range.length)
        copied.set(bytes, from, range.length): Unit
        from += range.length
      }
      copyRange(key, row.key)
      copyRange(value, row.value)
      copyRange(input, row.input)
      row.context.set(context)
      row.isPartlyLate = isPartlyLate
      row
    }
  }

  /** A row that is punctuation: it is in no window, and sets the watermark of its source.
    *
    * @param row
    *   the row; its time is the watermark that it sets
    */
  final class Punctuation(val row: Row) extends GroupInput

  /** A row that cannot be assigned to a window. */
  final class DeadLetter extends GroupInput {
    val input = new ByteRange
    var reason: DeadLetterReason = DeadLetterReason.NoTime

    /** The time of the row in microseconds since 1970; none if it has no usable time. */
    var time: Option[Long] = None
    var lateWatermark: Long = 0L
  }

  /** The counts of one map-side task, as bytes of [[RowCounts]]. */
  final class Counts(val bytes: Array[Byte]) extends GroupInput

  /** The latest arrival of the rows of one map-side task, for windows over substreams.
    *
    * @param time
    *   microseconds since 1970
    */
  final class LatestArrival(val time: Long) extends GroupInput

  /** The rows that one map-side task has read and kept, for the task that reads them again.
    *
    * @param task
    *   the number of the map-side task
    * @param rows
    *   the number of rows
    * @param sum
    *   a sum of the rows that depends on their order
    */
  final class ReadRows(val task: Int, val rows: Long, val sum: Long) extends GroupInput

  /** A tick: the due wall-clock timers of all keys run. */
  case object Tick extends GroupInput

  /** The watermark by which windows fire advances. If a batch has several of these inputs, the
    * largest watermarks count.
    */
  final class Advanced(val advance: Advance) extends GroupInput
}
