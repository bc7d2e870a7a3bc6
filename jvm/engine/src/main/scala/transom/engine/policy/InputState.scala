package transom.engine.policy

import java.nio.ByteBuffer

import transom.engine.time.{Ticks, Watermark}

/** What a time stage keeps about the whole input besides its partitions. Times are microseconds
  * since 1970, or `Watermark.NotYet`.
  */
private[policy] final class InputState {

  /** The watermark of the windows. */
  var watermark: Long = Watermark.NotYet

  /** The latest arrival, as the last row or an estimate says. */
  var arrival: Long = Watermark.NotYet

  /** The latest arrival when the last row came. */
  var rowArrival: Long = Watermark.NotYet

  /** Wall-clock time of the last batch with rows. */
  var seen: Long = Watermark.NotYet

  /** The open windows, as `OpenWindows.saved` returns them. */
  var windows: Array[Long] = Array.emptyLongArray

  def noteArrival(latest: Long): Unit = {
    arrival = math.max(arrival, latest)
    rowArrival = arrival
  }

  /** Moves the latest arrival by the time that has passed since the last row. */
  def estimateArrival(now: Long): Unit =
    if (rowArrival != Watermark.NotYet)
      arrival = math.max(arrival, Ticks.add(rowArrival, math.max(0L, now - seen)))

  def bytes: Array[Byte] = {
    val out = ByteBuffer
      .allocate(InputState.Size + 8 * windows.length)
      .put(InputState.Version)
      .putLong(watermark)
      .putLong(arrival)
      .putLong(rowArrival)
      .putLong(seen)
    windows.foreach(out.putLong)
    out.array
  }
}

private[policy] object InputState {
  private val Version: Byte = 1
  private final val Size = 33

  /** Decodes a state; null stands for an input without rows. */
  def read(bytes: Array[Byte]): InputState = {
    val state = new InputState
    if (bytes != null) {
      val in = ByteBuffer.wrap(bytes)
      val version = in.get()
      if (version != Version) throw new IllegalStateException(s"unknown state version $version")
      state.watermark = in.getLong()
      state.arrival = in.getLong()
      state.rowArrival = in.getLong()
      state.seen = in.getLong()
      state.windows = Array.fill(in.remaining / 8)(in.getLong())
    }
    state
  }
}
