package transom.engine.policy

import java.nio.ByteBuffer

import transom.engine.state.UnknownStateVersion
import transom.engine.time.Watermark

/** The time of one source: of an input partition, of a substream, or of the whole input.
  *
  * Times are microseconds since 1970. A value that is not known yet is `Watermark.NotYet`. Only
  * [[TimePolicyLogic]] changes the fields, once for each row of the source.
  */
final class SourceClock {

  /** The latest time in force of all rows. */
  var latest: Long = Watermark.NotYet

  /** The watermark by the times of rows. */
  var watermark: Long = Watermark.NotYet

  /** The latest arrival. */
  var arrival: Long = Watermark.NotYet

  /** Number of accepted rows since they last advanced the watermark by their number. */
  var rows: Int = 0

  def bytes: Array[Byte] =
    ByteBuffer
      .allocate(SourceClock.Size)
      .put(SourceClock.Version)
      .putLong(latest)
      .putLong(watermark)
      .putLong(arrival)
      .putInt(rows)
      .array
}

/** Decodes the clocks of sources. */
object SourceClock {
  private val Version: Byte = 1
  private final val Size = 29

  def of(bytes: Array[Byte]): SourceClock = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version)
      throw new UnknownStateVersion("a partition or substream", version, Version)
    val clock = new SourceClock
    clock.latest = in.getLong()
    clock.watermark = in.getLong()
    clock.arrival = in.getLong()
    clock.rows = in.getInt()
    clock
  }
}
