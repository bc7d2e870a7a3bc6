package transom.engine.runtime

import java.nio.ByteBuffer

/** Counts input rows by outcome, such as late or in a gap, and the results of windows. Each
  * map-side task sends its counts through the exchange. Not thread-safe.
  */
final class RowCounts {
  private val values = new Array[Long](RowCounts.all.length)

  def apply(count: RowCount): Long = values(count.index)

  def add(count: RowCount, number: Long = 1L): Unit = values(count.index) += number

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

  /** The numbers, in the order of `RowCounts.all`. */
  def toSeq: Seq[Long] = values.toIndexedSeq
}

/** One of the counts of [[RowCounts]].
  *
  * @param name
  *   the name that metrics show
  * @param index
  *   the position in `RowCounts.all`
  * @param isOfStage
  *   whether only a time stage in front of the windows counts. All other counts of a stage are
  *   counted again by the windows behind it.
  */
final class RowCount private[runtime] (val name: String, val index: Int, val isOfStage: Boolean) {
  override def toString: String = name
}

/** The counts. Metrics show all counts that are defined here, in this order. */
object RowCounts {
  private val defined = IndexedSeq.newBuilder[RowCount]
  private var size = 0

  val In: RowCount = count("rows_in")
  val Late: RowCount = count("rows_late")
  val LatePartly: RowCount = count("rows_late_partly")
  val InGaps: RowCount = count("rows_in_gaps")
  val WithoutTime: RowCount = count("rows_without_time")
  val OutOfRange: RowCount = count("rows_out_of_range")
  val WithBadWindows: RowCount = count("rows_with_bad_windows")
  val Early: RowCount = count("rows_early")
  val LateArrival: RowCount = count("rows_late_arrival")
  val OutOfOrder: RowCount = count("rows_out_of_order")
  val Adjusted: RowCount = count("rows_adjusted")
  val Dropped: RowCount = count("rows_dropped")
  val WithoutSubstream: RowCount = count("rows_without_substream")
  val OfUnknownPartition: RowCount = count("rows_of_unknown_partition")
  val WithFailedKeys: RowCount = count("rows_with_failed_keys")

  /** The results that windows emit, one for each key, window and firing. A retraction is no
    * result, and a window whose rows a function gets emits one result.
    */
  val WindowsFired: RowCount = count("windows_fired")

  /** The ticks at which the idle timeout moves the watermark. */
  val IdleCloses: RowCount = count("idle_closes", isOfStage = true)

  /** The rows that are punctuation and no data. */
  val Punctuation: RowCount = count("rows_punctuation")

  /** The rows that are the end of an earlier row. */
  val EndEdges: RowCount = count("rows_end_edges")

  /** The rows that come in a later batch than a row that arrived after them. */
  val Overtaken: RowCount = count("rows_overtaken", isOfStage = true)

  val all: IndexedSeq[RowCount] = defined.result()

  private def count(name: String, isOfStage: Boolean = false): RowCount = {
    val next = new RowCount(name, size, isOfStage)
    size += 1
    defined += next
    next
  }
}
