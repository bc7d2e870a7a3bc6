package transom.engine.substream

import java.util.LinkedHashSet

import scala.jdk.CollectionConverters._

import transom.engine.keyed.{KeyClocks, KeyInMemory}
import transom.engine.runtime.{DeadLetterReason, Event, RowCounts}
import transom.engine.policy._
import transom.engine.spec.TimePolicy
import transom.engine.state.{ByteRange, KeyBytes}
import transom.engine.time.Watermark
import transom.engine.window.{Arrival, TimeConvention}

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
  def note(stamp: Stamp, time: Long): Unit

  /** Replaces the time in the value of a row.
    *
    * @param time
    *   microseconds since 1970
    */
  def setTime(value: ByteRange, time: Long): Unit
}

/** The watermarks of the keys of one key group, if a time policy has substreams.
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
final class SubstreamClocks(
    policy: TimePolicy,
    logic: TimePolicyLogic,
    convention: TimeConvention,
    rows: SubstreamRows,
    store: SubstreamStore,
    seesEnds: Boolean,
    now: Long)
    extends KeyClocks {
  private val timers: SubstreamTimers =
    if (rows.isKey) NoTimers else new TimerHeaps(store.timers)
  private val clocks =
    new SourceClocks(logic, store.clocks, timers.isWaiting(_, common))
  private val floorBefore = common
  // What the rows of this batch are compared with: latest arrivals of its own rows may come first.
  private val estimated =
    if (policy.estimateArrival) clocks.arrivals.latest else Watermark.NotYet
  private val substream = new ByteRange
  private val keyRange = new ByteRange
  private val stamp = new Stamp
  // Without timers, nothing else finds the keys of punctuation.
  private val punctuatedKeys = new LinkedHashSet[KeyBytes]

  override def judge(row: Event.Row, key: KeyInMemory, counts: RowCounts): DeadLetterReason = {
    val time = row.arrival.time
    if (key.clock == null) {
      rows.substreamOf(row.key, substream)
      key.clock = clocks(substream)
    }
    logic.judge(key.clock, time, arrivalOf(row), endOf(row), stamp)
    TimeStage.count(counts, stamp)
    if (!stamp.broken.isEmpty) rows.note(stamp, time)
    row.arrival.watermark = math.max(floorBefore, convention.watermarkIn(stamp.watermark))
    if (stamp.dropped == null) {
      if (stamp.time != time) rows.setTime(row.value, stamp.time)
      row.arrival.time = convention.timeIn(stamp.time)
    }
    stamp.dropped
  }

  override def punctuate(row: Event.Row, counts: RowCounts): Unit = {
    rows.substreamOf(row.key, substream)
    clocks.punctuate(substream, row.arrival.time, arrivalOf(row), stamp)
    counts.add(RowCounts.Punctuation)
    if (rows.isKey) punctuatedKeys.add(KeyBytes.of(substream.copied)): Unit
  }

  private def arrivalOf(row: Event.Row): Long = math.max(estimated, row.arrival.clock)

  /** The end of a row's lifetime, in the host's convention. */
  private def endOf(row: Event.Row): Long = {
    val end = row.arrival.end
    if (!seesEnds || end == Arrival.NoEnd) Arrival.NoEnd else convention.timeOut(end)
  }

  override def noteArrival(arrival: Long): Unit = {
    clocks.arrivals.note(arrival)
    clocks.arrivals.seen = now
  }

  override def tick(): Unit = if (policy.estimateArrival) clocks.arrivals.estimate(now)

  override def hasCommon: Boolean = policy.late.isDefined

  override def common: Long = convention.watermarkIn(logic.floorOf(clocks.arrivals.latest))

  override def of(key: KeyInMemory): Long = {
    if (key.clock == null) {
      rows.substreamOf(keyRange.set(key.key, 0, key.key.length), substream)
      key.clock = clocks.inBatch(substream)
    }
    if (key.clock == null) Watermark.NotYet else watermarkOf(key.clock)
  }

  override def expired: Iterator[Array[Byte]] = clocks.allInBatch.flatMap {
    case (substream, clock) => timers.take(substream, watermarkOf(clock))
  }

  override def punctuated: Iterator[Array[Byte]] =
    punctuatedKeys.asScala.iterator.map(_.bytes)

  override def noteTimer(timer: Long, key: Array[Byte]): Unit = if (!rows.isKey) {
    rows.substreamOf(keyRange.set(key, 0, key.length), substream)
    timers.add(substream.copied, timer, key)
  }

  override def reached: Option[Long] =
    Some(math.max(clocks.watermark, logic.floorOf(clocks.arrivals.latest)))
      .filter(_ != Watermark.NotYet)

  override def save(): Unit = {
    clocks.save()
    timers.save()
  }

  private def watermarkOf(clock: SourceClock): Long =
    convention.watermarkIn(logic.watermarkOf(clock))
}
