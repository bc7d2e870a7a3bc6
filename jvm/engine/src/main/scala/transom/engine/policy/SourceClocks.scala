package transom.engine.policy

import java.nio.ByteBuffer
import java.util.{Arrays, LinkedHashMap}

import scala.jdk.CollectionConverters._

import transom.engine.state.{ByteRange, KeyBytes, UnknownStateVersion}
import transom.engine.time.{Advance, Watermark}

/** The clocks of the sources of one key group, in one batch.
  *
  * A clock is read once and written once in a batch. If the policy has a late rule, a source is
  * forgotten once its watermark is not above the bound that the late rule sets for all rows: the
  * source would meet the same watermark without a state. All sources are inspected when their
  * number has doubled, so a row costs the same however many sources there are.
  *
  * @param logic
  *   the policy
  * @param isInUse
  *   whether a source must be kept for another reason. The callback may release what it holds for
  *   the source.
  */
final class SourceClocks(
    logic: TimePolicyLogic,
    store: SourceStore,
    isInUse: Array[Byte] => Boolean = _ => false)
    extends StageClock {
  private val held = new LinkedHashMap[KeyBytes, SourceClock]
  private val lookup = new KeyBytes
  private val lastKey = new ByteRange
  private var last: SourceClock = _
  private val saved = store.header.get
  private val header = Header.read(saved)

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

  /** The clock of a source that has rows in this batch, or null. */
  def inBatch(source: ByteRange): SourceClock =
    held.get(lookup.set(source.bytes, source.offset, source.length))

  /** The arrivals of the rows of all sources, those of other key groups included. */
  def arrivals: ArrivalClock = header.arrivals

  override def judge(
      source: ByteRange,
      time: Long,
      arrival: Long,
      end: Long,
      stamp: Stamp): Unit =
    logic.judge(apply(source), time, arrival, end, stamp)

  override def punctuate(source: ByteRange, at: Long, arrival: Long, stamp: Stamp): Unit =
    logic.punctuate(apply(source), at, arrival, stamp)

  // Stamped rows do not depend on the wall clock, and no operator below needs watermarks.
  override def noteRow(): Unit = ()
  override def tick(): Boolean = false
  override def advance: Option[Advance] = None

  /** The largest watermark of the sources that had rows in this batch. */
  override def watermark: Long =
    allInBatch
      .map { case (_, clock) => logic.watermarkOf(clock) }
      .maxOption
      .getOrElse(Watermark.NotYet)

  /** The sources that have rows in this batch. */
  def allInBatch: Iterator[(Array[Byte], SourceClock)] =
    held.asScala.iterator.map { case (source, clock) => (source.bytes, clock) }

  private def find(source: ByteRange): SourceClock = {
    lookup.set(source.bytes, source.offset, source.length)
    val found = held.get(lookup)
    if (found != null) found
    else {
      val key = lookup.bytes
      val state = store.sources.get(key)
      if (state == null) header.sources += 1
      val clock = if (state == null) new SourceClock else SourceClock.of(state)
      held.put(KeyBytes.of(key), clock)
      clock
    }
  }

  override def save(): Unit = {
    allInBatch.foreach { case (source, clock) => store.sources.put(source, clock.bytes) }
    allInBatch.map(_._2.arrival).maxOption.foreach(arrivals.note)
    if (logic.forgetsSources && header.sources >= header.limit) forget()
    val bytes = header.bytes
    if (!Arrays.equals(bytes, saved)) store.header.put(bytes)
  }

  private def forget(): Unit = {
    var left = 0
    store.sources.entries.foreach { case (source, state) =>
      if (logic.canForget(SourceClock.of(state), arrivals.latest) && !isInUse(source))
        store.sources.remove(source)
      else left += 1
    }
    header.sources = left
    header.limit = math.max(Header.Least, 2 * left)
  }
}

/** The state of a key group besides its sources. */
private final class Header {

  /** Number of sources in the store. */
  var sources: Int = 0

  /** Number of sources at which all of them are inspected. */
  var limit: Int = Header.Least

  /** The arrivals of the rows of all sources. */
  val arrivals: ArrivalClock = new ArrivalClock

  def bytes: Array[Byte] = {
    val out = ByteBuffer.allocate(Header.Size).put(Header.Version).putInt(sources).putInt(limit)
    arrivals.write(out)
    out.array
  }
}

private object Header {
  private val Version: Byte = 2
  private final val Size = 9 + ArrivalClock.Size

  /** The least number of sources at which they are inspected. */
  final val Least = 64

  /** Decodes a header; null stands for a key group without state. */
  def read(bytes: Array[Byte]): Header = {
    val header = new Header
    if (bytes != null) {
      val in = ByteBuffer.wrap(bytes)
      val version = in.get()
      if (version != Version)
        throw new UnknownStateVersion("the partitions or substreams", version, Version)
      header.sources = in.getInt()
      header.limit = in.getInt()
      header.arrivals.read(in)
    }
    header
  }
}
