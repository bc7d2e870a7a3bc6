package transom.engine.runtime

import scala.collection.mutable

/** The metrics of a key group that are not sums, as they are after a batch.
  *
  * Times are microseconds since 1970.
  *
  * @param watermark
  *   the watermark that the batch has brought; none if it has brought none
  * @param open
  *   the starts of the open windows; none if no window is open
  * @param partitions
  *   the partitions of the input that hold the watermark back most, if the operator has a clock
  *   for each
  * @param partitionCount
  *   the number of all partitions
  * @param rowsOpen
  *   the number of rows that wait for the row with their end; none if rows do not wait
  * @param touched
  *   the open windows of the keys that the batch has touched; none if they are not known
  */
final case class Gauges(
    watermark: Option[Long] = None,
    open: Option[OpenStarts] = None,
    partitions: Seq[PartitionGauge] = Nil,
    partitionCount: Int = 0,
    rowsOpen: Option[Long] = None,
    touched: Option[TouchedWindows] = None)

/** The earliest and the latest start of the windows that have rows and have not fired for the
  * last time.
  */
final case class OpenStarts(earliest: Long, latest: Long)

/** The open windows of the keys that a batch has touched: of each key, at least the first and the
  * last window.
  *
  * @param reached
  *   the watermark or the wall-clock time to which the batch has advanced the windows
  * @param closings
  *   when a window closes, by its start; on the timeline of `reached`
  */
final class TouchedWindows(val reached: Long, val closings: collection.Map[Long, Long])

/** Finds the first and the last open window of all keys from the windows of the keys that batches
  * touch.
  *
  * A window closes at the same time for all keys, and this touches its keys. So the first open
  * window has been the first one of a key since a batch last touched this key. Not thread-safe.
  */
final class OpenByKeys {
  private val closings = mutable.TreeMap.empty[Long, Long]

  /** The starts of the open windows after a batch, if a window is open.
    *
    * @param batch
    *   of each key group that the batch has touched
    */
  def after(batch: Seq[TouchedWindows]): Option[OpenStarts] = {
    batch.foreach(_.closings.foreach { case (start, closing) => add(start, closing) })
    batch.map(_.reached).maxOption.foreach { reached =>
      closings.filterInPlace((_, closing) => closing > reached)
    }
    Option.when(closings.nonEmpty)(OpenStarts(closings.firstKey, closings.lastKey))
  }

  // Windows of a cycle have the same start.
  private def add(start: Long, closing: Long): Unit =
    closings.update(start, math.max(closing, closings.getOrElse(start, closing)))
}

/** A partition of the input.
  *
  * @param source
  *   the bytes that identify the partition
  * @param watermark
  *   the watermark of the partition alone, or `Watermark.NotYet`
  * @param isIdle
  *   whether the watermark of the windows does not wait for the partition
  */
final class PartitionGauge(val source: Array[Byte], val watermark: Long, val isIdle: Boolean)

object PartitionGauge {

  /** How many partitions the metrics list. The driver keeps the metrics of many batches. */
  final val Most = 1000

  /** The partitions that hold the watermark back most: those it waits for, by their watermarks.
    */
  def first(partitions: Seq[PartitionGauge]): Seq[PartitionGauge] =
    if (partitions.size <= Most) partitions
    else partitions.sortBy(partition => (partition.isIdle, partition.watermark)).take(Most)
}
