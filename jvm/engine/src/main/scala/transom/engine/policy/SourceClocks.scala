package transom.engine.policy

import java.nio.ByteBuffer
import java.util.LinkedHashMap

import scala.jdk.CollectionConverters._

import transom.engine.state.{ByteRange, KeyBytes}
import transom.engine.time.Watermark

/** The clocks of the sources of one key group, in one batch.
  *
  * A clock is read once and written once in a batch. If the policy has a late rule, a source is
  * forgotten once its watermark is not above the bound that the late rule sets for all rows: the
  * source would meet the same watermark without a state. All sources are inspected when their
  * number has doubled, so a row costs the same however many sources there are.
  *
  * @param logic
  *   the policy
  */
final class SourceClocks(logic: TimePolicyLogic, store: SourceStore) extends StageClock {
  private val held = new LinkedHashMap[KeyBytes, SourceClock]
  private val lookup = new KeyBytes
  private val lastKey = new ByteRange
  private var last: SourceClock = _
  private var header = Header.read(store.header)
  private val saved = header

  /** The clock of a source.
    *
    * @param source
    *   key of the source; the bytes must not change later
    */
  def apply(source: ByteRange): SourceClock = {
    if (last == null || !lastKey.contentEquals(source)) {
      lastKey.set(source)
      last = find(source)
    }
    last
  }

  override def judge(source: ByteRange, time: Long, arrival: Long, stamp: Stamp): Unit =
    logic.judge(apply(source), time, arrival, stamp)

  // Stamped rows do not depend on the wall clock, and no operator below needs watermarks.
  override def noteRow(): Unit = ()
  override def tick(): Unit = ()
  override def reached: Option[Long] = None

  private def touched: Iterator[(Array[Byte], SourceClock)] =
    held.asScala.iterator.map { case (source, clock) => (source.bytes, clock) }

  private def find(source: ByteRange): SourceClock = {
    lookup.set(source.bytes, source.offset, source.length)
    val found = held.get(lookup)
    if (found != null) found
    else {
      val key = lookup.bytes
      val state = store.get(key)
      if (state == null) header = header.copy(sources = header.sources + 1)
      val clock = if (state == null) new SourceClock else SourceClock.of(state)
      held.put(KeyBytes.of(key), clock)
      clock
    }
  }

  override def save(): Unit = {
    touched.foreach { case (source, clock) => store.put(source, clock.bytes) }
    val latest = touched.map(_._2.arrival).maxOption.getOrElse(Watermark.NotYet)
    header = header.copy(arrival = math.max(header.arrival, latest))
    if (logic.forgetsSources && header.sources >= header.limit) forget()
    if (header != saved) store.saveHeader(header.bytes)
  }

  private def forget(): Unit = {
    var left = 0
    store.all.foreach { case (source, state) =>
      if (logic.canForget(SourceClock.of(state), header.arrival)) store.remove(source)
      else left += 1
    }
    header = header.copy(sources = left, limit = math.max(Header.Least, 2 * left))
  }
}

/** The state of a key group besides its sources.
  *
  * @param sources
  *   number of sources in the store
  * @param limit
  *   number of sources at which all of them are inspected
  * @param arrival
  *   the latest arrival of all sources, microseconds since 1970
  */
private final case class Header(sources: Int, limit: Int, arrival: Long) {
  def bytes: Array[Byte] =
    ByteBuffer
      .allocate(Header.Size)
      .put(Header.Version)
      .putInt(sources)
      .putInt(limit)
      .putLong(arrival)
      .array
}

private object Header {
  private val Version: Byte = 1
  private final val Size = 17

  /** The least number of sources at which they are inspected. */
  final val Least = 64

  /** Decodes a header; null stands for a key group without state. */
  def read(bytes: Array[Byte]): Header =
    if (bytes == null) Header(0, Least, Watermark.NotYet)
    else {
      val in = ByteBuffer.wrap(bytes)
      val version = in.get()
      if (version != Version) throw new IllegalStateException(s"unknown state version $version")
      Header(in.getInt(), in.getInt(), in.getLong())
    }
}
