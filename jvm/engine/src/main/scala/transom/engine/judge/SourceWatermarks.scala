package transom.engine.judge

import java.nio.ByteBuffer
import java.util.{Arrays, LinkedHashMap}

import scala.jdk.CollectionConverters._

import transom.engine.runtime.GroupInput
import transom.engine.state._
import transom.engine.time.{Ticks, Watermark}

/** Judges rows by the watermarks of their sources alone, in one key group. Used for rows that no
  * windows follow, and for the substreams of [[SubstreamWatermarks]].
  *
  * The state of a source is read once and written once in a batch. If the policy has a late rule,
  * all rows hold the watermarks of all sources at least at the floor, see [[TimePolicyLogic]]. A
  * source whose own watermark is not above the floor meets the floor with or without its state.
  * So the state is removed. All sources are inspected when their number has doubled, so a row
  * costs the same however many sources there are.
  *
  * @param logic
  *   the policy
  * @param isInUse
  *   whether a source must be kept for another reason. The callback may release what it holds for
  *   the source.
  */
final class SourceWatermarks(
    logic: TimePolicyLogic,
    store: SourceStore,
    isInUse: Array[Byte] => Boolean = _ => false)
    extends Judge {
  override type Source = SourceWatermark

  private val held = new LinkedHashMap[KeyBytes, SourceWatermark]
  private val lookup = new KeyBytes
  private val lastKey = new ByteRange
  private var last: SourceWatermark = _
  private val saved = store.header.get
  private val header = Header.read(saved)

  override def sourceOf(key: ByteRange): SourceWatermark = {
    if (last == null || !lastKey.contentEquals(key)) {
      lastKey.set(key)
      last = find(key)
    }
    last
  }

  /** A source that has rows in this batch, or null. */
  def inBatch(key: ByteRange): SourceWatermark =
    held.get(lookup.set(key.bytes, key.offset, key.length))

  /** The arrivals of the rows of all sources, those of other key groups included. */
  def arrivals: Arrivals = header.arrivals

  override def judge(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit =
    logic.judge(source, row.context.time, row.context.arrival, row.context.end, to)

  override def punctuate(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit =
    logic.punctuate(source, row.context.time, row.context.arrival, to)

  override def watermark: Long =
    allInBatch
      .map { case (_, source) => logic.watermarkOf(source) }
      .maxOption
      .getOrElse(Watermark.NotYet)

  /** The sources that have rows in this batch, with their keys. */
  def allInBatch: Iterator[(Array[Byte], SourceWatermark)] =
    held.asScala.iterator.map { case (key, source) => (key.bytes, source) }

  private def find(source: ByteRange): SourceWatermark = {
    lookup.set(source.bytes, source.offset, source.length)
    val found = held.get(lookup)
    if (found != null) found
    else {
      val key = lookup.bytes
      val state = store.sources.get(key)
      if (state == null) header.sources += 1
      val read = if (state == null) new SourceWatermark else SourceWatermark.of(state)
      held.put(KeyBytes.of(key), read)
      read
    }
  }

  override def save(): Unit = {
    allInBatch.foreach { case (key, source) => store.sources.put(key, source.bytes) }
    allInBatch.map(_._2.arrival).maxOption.foreach(arrivals.note)
    if (logic.forgetsSources && header.sources >= header.limit) forget()
    val bytes = header.bytes
    if (!Arrays.equals(bytes, saved)) store.header.put(bytes)
  }

  private def forget(): Unit = {
    var left = 0
    store.sources.entries.foreach { case (key, state) =>
      if (logic.canForget(SourceWatermark.of(state), arrivals.latest) && !isInUse(key))
        store.sources.remove(key)
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
  val arrivals: Arrivals = new Arrivals

  def bytes: Array[Byte] = {
    val out = ByteBuffer.allocate(Header.Size).put(Header.Version).putInt(sources).putInt(limit)
    arrivals.write(out)
    out.array
  }
}

private object Header {
  private val Version: Byte = 2
  private final val Size = 9 + Arrivals.Size

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

/** The arrivals of the rows of a whole input.
  *
  * Times are microseconds since 1970, or `Watermark.NotYet`.
  */
final class Arrivals {

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

private[judge] object Arrivals {

  /** The size of written arrivals in bytes. */
  final val Size = 24
}

/** The sources in the state of a key group.
  *
  * @param headerName
  *   the name of the variable of the key group itself
  */
final class SourceStore(state: KeyGroupState, headerName: String = "group") {

  /** The state of each source. */
  val sources: StateMap = state.map("sources")

  /** State of the key group itself. */
  val header: StateValue = state.value(headerName)
}
