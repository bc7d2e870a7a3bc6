package transom.engine.judge

import java.util.LinkedHashSet

import scala.jdk.CollectionConverters._

import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime.GroupInput
import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.state.{ByteRange, KeyBytes, KeyGroupState, StateMap}
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.{RowContext, TimeConvention}

/** The keys and rows of a host whose time policy has substreams. */
trait SubstreamRows {

  /** Whether each substream has one key. The bytes of the substream are then those of the key. */
  def isKey: Boolean

  /** Points `to` at the substream of a key. The bytes stay valid. */
  def substreamOf(key: ByteRange, to: ByteRange): Unit

  /** Notes that a row has broken a rule.
    *
    * @param time
    *   the time of the row before the rules, microseconds since 1970
    */
  def note(judgement: Judgement, time: Long): Unit

  /** Replaces the time in the value of a row.
    *
    * @param time
    *   microseconds since 1970
    */
  def setTime(value: ByteRange, time: Long): Unit
}

/** Judges rows by the watermarks of their substreams, in one key group.
  *
  * All rows of a substream are in one key group. So the time policy judges rows here, right
  * before their windows receive them. The late rule holds the watermarks of all substreams at
  * least at the floor. The latest arrival of any row moves the floor, so the map side sends it to
  * all key groups.
  *
  * Arrivals may go back from batch to batch, but the floor never does: a row meets at least the
  * floor by which windows have fired. While no rows arrive, a tick may estimate the arrival of
  * the next row. A later row then counts as arriving no earlier.
  *
  * @param policy
  *   the time policy; `logic` applies it
  * @param seesEnds
  *   whether the rules see the ends of lifetimes
  * @param now
  *   wall-clock time of the batch, microseconds since 1970
  */
final class SubstreamWatermarks(
    policy: TimePolicy,
    logic: TimePolicyLogic,
    convention: TimeConvention,
    rows: SubstreamRows,
    store: SubstreamStore,
    seesEnds: Boolean,
    now: Long)
    extends KeyJudge {
  private val timers: SubstreamTimers =
    if (rows.isKey) NoTimers else new TimerHeaps(store.timers)
  private val sources =
    new SourceWatermarks(logic, store.sources, timers.isWaiting(_, convention.watermarkIn(floor)))
  private val floorBefore = convention.watermarkIn(floor)
  // What the rows of this batch are compared with: latest arrivals of its own rows may come first.
  private val estimated =
    if (policy.estimateArrival) sources.arrivals.latest else Watermark.NotYet
  private val substream = new ByteRange
  private val keyRange = new ByteRange
  // Without timers, nothing else finds the keys of punctuation.
  private val punctuatedKeys = new LinkedHashSet[KeyBytes]

  override def sourceOf(key: ByteRange): SourceWatermark = {
    rows.substreamOf(key, substream)
    sources.sourceOf(substream)
  }

  override def judge(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit = {
    val time = row.context.time
    logic.judge(source, time, arrivalOf(row), endOf(row), to)
    if (!to.broken.isEmpty) rows.note(to, time)
    row.context.watermark = math.max(floorBefore, convention.watermarkIn(to.watermark))
    if (to.dropped == null) {
      if (to.time != time) rows.setTime(row.value, to.time)
      row.context.time = convention.timeIn(to.time)
    }
  }

  override def punctuate(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit = {
    logic.punctuate(source, row.context.time, arrivalOf(row), to)
    if (rows.isKey) punctuatedKeys.add(KeyBytes.of(row.key.copied)): Unit
  }

  private def arrivalOf(row: GroupInput.Row): Long = math.max(estimated, row.context.arrival)

  /** The end of a row's lifetime, in the host's convention. */
  private def endOf(row: GroupInput.Row): Long = {
    val end = row.context.end
    if (!seesEnds || end == RowContext.NoEnd) RowContext.NoEnd else convention.timeOut(end)
  }

  override def noteArrival(arrival: Long): Unit = {
    sources.arrivals.note(arrival)
    sources.arrivals.seen = now
  }

  override def tick(): Boolean = {
    if (policy.estimateArrival) sources.arrivals.estimate(now)
    false
  }

  private def floor: Long = logic.floorOf(sources.arrivals.latest)

  override def hasCommon: Boolean = policy.late.isDefined

  override def advance: Advance = Advance.to(floor)

  override def watermark: Long = math.max(sources.watermark, floor)

  override def watermarkOf(key: Array[Byte], source: SourceWatermark): Long = {
    val found = if (source != null) source else sources.inBatch(substreamOf(key))
    if (found == null) Watermark.NotYet else watermarkIn(found)
  }

  override def expired: Iterator[Array[Byte]] = sources.allInBatch.flatMap {
    case (substream, source) => timers.take(substream, watermarkIn(source))
  }

  override def punctuated: Iterator[Array[Byte]] =
    punctuatedKeys.asScala.iterator.map(_.bytes)

  override def noteTimer(timer: Long, key: Array[Byte]): Unit =
    if (!rows.isKey) timers.add(substreamOf(key).copied, timer, key)

  override def save(): Unit = {
    sources.save()
    timers.save()
  }

  private def substreamOf(key: Array[Byte]): ByteRange = {
    rows.substreamOf(keyRange.set(key, 0, key.length), substream)
    substream
  }

  /** The watermark of a substream in the engine's convention. */
  private def watermarkIn(source: SourceWatermark): Long =
    convention.watermarkIn(logic.watermarkOf(source))
}

/** The substreams in the state of a key group: the keys, the watermarks of the substreams, and
  * their timers.
  */
final class SubstreamStore(state: KeyGroupState, spec: WindowSpec) extends KeyStore(state, spec) {

  /** The watermarks of the substreams. */
  val sources: SourceStore = new SourceStore(state, "substreams")

  /** The timers, see [[TimerHeaps]]. */
  val timers: StateMap = state.map("substream_timers")
}
