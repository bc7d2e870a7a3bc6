package transom.engine.policy

import java.nio.ByteBuffer

import transom.engine.state.UnknownStateVersion
import transom.engine.time.Watermark

/** What a time stage keeps about the whole input besides its partitions. Times are microseconds
  * since 1970, or `Watermark.NotYet`.
  */
private[policy] final class InputState {

  /** The watermark of the windows. */
  var watermark: Long = Watermark.NotYet

  /** The arrivals of the rows of the input. */
  val arrivals: ArrivalClock = new ArrivalClock

  /** The open windows, as `WindowsWithRows.saved` returns them. */
  var windows: Array[Long] = Array.emptyLongArray

  def bytes: Array[Byte] = {
    val out = ByteBuffer
      .allocate(InputState.Size + 8 * windows.length)
      .put(InputState.Version)
      .putLong(watermark)
    arrivals.write(out)
    windows.foreach(out.putLong)
    out.array
  }
}

private[policy] object InputState {
  private val Version: Byte = 1
  private final val Size = 9 + ArrivalClock.Size

  /** Decodes a state; null stands for an input without rows. */
  def read(bytes: Array[Byte]): InputState = {
    val state = new InputState
    if (bytes != null) {
      val in = ByteBuffer.wrap(bytes)
      val version = in.get()
      if (version != Version) throw new UnknownStateVersion("the input", version, Version)
      state.watermark = in.getLong()
      state.arrivals.read(in)
      state.windows = Array.fill(in.remaining / 8)(in.getLong())
    }
    state
  }
}
