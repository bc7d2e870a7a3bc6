package transom.engine.operator

import java.nio.ByteBuffer

/** Counts input rows by outcome, such as late or in a gap, and the results of windows. Each
  * map-side task sends its counts through the exchange. Not thread-safe.
  */
final class RowCounts {
  private val values = new Array[Long](RowCounts.names.length)

  def apply(count: Int): Long = values(count)

  /** Adds `number` to a count.
    *
    * @param count
    *   one of the constants of the companion
    */
  def add(count: Int, number: Long = 1L): Unit = values(count) += number

  def isEmpty: Boolean = values.forall(_ == 0L)

  def bytes: Array[Byte] = {
    val out = ByteBuffer.allocate(8 * values.length)
    values.foreach(out.putLong)
    out.array
  }

  /** Adds the counts of another instance, as `bytes` returned them. */
  def add(bytes: Array[Byte]): Unit = {
    val in = ByteBuffer.wrap(bytes)
    values.indices.foreach(values(_) += in.getLong())
  }

  def toSeq: Seq[Long] = values.toIndexedSeq
}

/** The index of each count, and the names of the counts. */
object RowCounts {
  final val In = 0
  final val Late = 1
  final val LatePartly = 2
  final val InGaps = 3
  final val WithoutTime = 4
  final val OutOfRange = 5
  final val WithBadWindows = 6
  final val Early = 7
  final val LateArrival = 8
  final val OutOfOrder = 9
  final val Adjusted = 10
  final val Dropped = 11
  final val WithoutSubstream = 12
  final val OfUnknownPartition = 13
  final val WithFailedKeys = 14

  /** The results that windows emit, one for each key, window and firing. A retraction is no
    * result, and a window whose rows a function gets emits one result.
    */
  final val WindowsFired = 15

  /** The ticks at which the idle timeout moves the watermark. */
  final val IdleCloses = 16

  /** The rows that are punctuation and no data. */
  final val Punctuation = 17

  /** The rows that are the end of an earlier row. */
  final val EndEdges = 18

  /** The rows that come in a later batch than a row that arrived after them. */
  final val Overtaken = 19

  /** The name of each count, as metrics show it. */
  val names: IndexedSeq[String] =
    IndexedSeq(
      "rows_in",
      "rows_late",
      "rows_late_partly",
      "rows_in_gaps",
      "rows_without_time",
      "rows_out_of_range",
      "rows_with_bad_windows",
      "rows_early",
      "rows_late_arrival",
      "rows_out_of_order",
      "rows_adjusted",
      "rows_dropped",
      "rows_without_substream",
      "rows_of_unknown_partition",
      "rows_with_failed_keys",
      "windows_fired",
      "idle_closes",
      "rows_punctuation",
      "rows_end_edges",
      "rows_overtaken")
}
