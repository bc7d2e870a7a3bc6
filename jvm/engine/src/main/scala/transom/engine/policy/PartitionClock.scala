package transom.engine.policy

import java.nio.ByteBuffer

/** The clock of an input partition, and how long the partition has been silent.
  *
  * @param seen
  *   wall-clock time of the batch with the last row, microseconds since 1970. Before the first
  *   row: the wall-clock time at which the partition was first known.
  */
private[policy] final class PartitionClock(val clock: SourceClock, var seen: Long) {

  /** Whether the watermark of the input does not wait for this partition. */
  var isIdle: Boolean = false

  /** Whether the state in memory may differ from the store. */
  var isChanged: Boolean = false

  def bytes: Array[Byte] = {
    val own = clock.bytes
    ByteBuffer
      .allocate(own.length + PartitionClock.Size)
      .put(own)
      .putLong(seen)
      .put(if (isIdle) 1.toByte else 0.toByte)
      .array
  }
}

private[policy] object PartitionClock {
  private final val Size = 9

  def of(bytes: Array[Byte]): PartitionClock = {
    val in = ByteBuffer.wrap(bytes, bytes.length - Size, Size)
    val partition = new PartitionClock(SourceClock.of(bytes), in.getLong())
    partition.isIdle = in.get() != 0
    partition
  }
}
