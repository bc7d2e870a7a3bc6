package transom.engine.policy

import java.nio.ByteBuffer

import transom.engine.time.{Ticks, Watermark}

/** The latest arrival of a whole input, as the last row or an estimate says.
  *
  * Times are microseconds since 1970, or `Watermark.NotYet`.
  */
private[engine] final class ArrivalClock {

  /** The latest arrival, as the last row or an estimate says. */
  var latest: Long = Watermark.NotYet

  /** The latest arrival when the last row came. */
  var ofRows: Long = Watermark.NotYet

  /** Wall-clock time of the last batch with rows. */
  var seen: Long = Watermark.NotYet

  /** Notes the arrival of a row. */
  def note(arrival: Long): Unit = {
    latest = math.max(latest, arrival)
    ofRows = latest
  }

  /** Moves the latest arrival by the time that has passed since the last row.
    *
    * @param now
    *   wall-clock time
    */
  def estimate(now: Long): Unit =
    if (ofRows != Watermark.NotYet)
      latest = math.max(latest, Ticks.add(ofRows, math.max(0L, now - seen)))

  def write(to: ByteBuffer): Unit = to.putLong(latest).putLong(ofRows).putLong(seen): Unit

  def read(from: ByteBuffer): Unit = {
    latest = from.getLong()
    ofRows = from.getLong()
    seen = from.getLong()
  }
}

private[engine] object ArrivalClock {

  /** The size of a written clock in bytes. */
  final val Size = 24
}
