package transom.engine.operator

/** The metrics of a key group that are not sums, as they are after a batch.
  *
  * Times are microseconds since 1970.
  *
  * @param watermark
  *   the watermark that the operator computes itself; none before the first one, and if the host
  *   computes the watermark
  * @param open
  *   the starts of the open windows; none if no window is open
  * @param partitions
  *   the partitions of the input, if the operator has a clock for each
  * @param rowsOpen
  *   the number of rows that wait for the row with their end; none if rows do not wait
  */
final case class Gauges(
    watermark: Option[Long] = None,
    open: Option[OpenStarts] = None,
    partitions: Seq[PartitionGauge] = Nil,
    rowsOpen: Option[Long] = None)

/** The earliest and the latest start of the windows that have rows and have not fired for the
  * last time.
  */
final case class OpenStarts(earliest: Long, latest: Long)

/** A partition of the input.
  *
  * @param source
  *   the bytes that identify the partition
  * @param watermark
  *   the watermark of the partition alone, or `Watermark.NotYet`
  * @param isIdle
  *   whether the watermark of the windows does not wait for the partition
  */
final case class PartitionGauge(source: Array[Byte], watermark: Long, isIdle: Boolean)
