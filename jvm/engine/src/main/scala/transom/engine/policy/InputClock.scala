package transom.engine.policy

import java.util.LinkedHashMap

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import transom.engine.runtime.PartitionGauge
import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.state.{ByteRange, KeyBytes}
import transom.engine.time.{Advance, Watermark}

/** The time of the whole input, for the windows behind a time stage, in one batch.
  *
  * Each partition of the input has a clock. The watermark of the windows is the least watermark
  * of the partitions, and never falls. A row meets the watermark that the rows before it have
  * reached. The wall clock moves the watermark only at a tick: a tick leaves silent partitions
  * out, estimates the arrival of the next row, and closes windows of a silent input.
  *
  * @param declared
  *   keys of the partitions that count before their first row
  * @param windows
  *   the spec of the windows
  * @param now
  *   wall-clock time of the batch, microseconds since 1970
  */
final class InputClock(
    policy: TimePolicy,
    logic: TimePolicyLogic,
    declared: Seq[Array[Byte]],
    windows: WindowSpec,
    store: SourceStore,
    now: Long)
    extends StageClock {
  private val bySource = new LinkedHashMap[KeyBytes, PartitionClock]
  // The same clocks, for the loop that may run for every row.
  private val clocks = ArrayBuffer.empty[PartitionClock]
  private val idle = windows.idleTimeout.map(IdleClosing.of(_, windows))
  private val state = InputState.read(store.header.get)
  private val before = state.watermark
  private val arrivedBefore = state.arrivals.ofRows
  private var overtakenRows = 0L
  private val estimates = policy.estimateArrival
  private val lookup = new KeyBytes
  // The partition of the row before.
  private val lastSource = new ByteRange
  private var last: PartitionClock = _
  // The least watermark of all partitions that are not idle. The estimated arrival is a bound of
  // its own, because it is the same for all partitions.
  private var least = Watermark.NotYet
  // The watermark of the current row's partition before the row, and whether the partition was
  // idle.
  private var bound = Watermark.NotYet
  private var wasIdle = false
  private var byRows = Option.empty[Long]

  store.sources.entries.foreach { case (source, bytes) =>
    hold(KeyBytes.of(source), PartitionClock.of(bytes))
  }
  declared.map(KeyBytes.of).filterNot(bySource.containsKey).foreach(add)
  idle.foreach(_.windows.restore(state.windows))
  least = minimum

  /** The watermark of the windows. */
  override def watermark: Long = state.watermark

  override def partitions: Seq[PartitionGauge] =
    if (policy.partitionColumn.isEmpty) Nil
    else
      bySource.asScala.iterator.map { case (source, partition) =>
        new PartitionGauge(source.bytes, watermarkOf(partition), partition.isIdle)
      }.toSeq

  override def judge(
      source: ByteRange,
      time: Long,
      arrival: Long,
      end: Long,
      stamp: Stamp): Unit = {
    val partition = arrive(source)
    logic.judge(partition.clock, time, arrival, end, stamp)
    // Without a closure, because this runs for every row.
    if (idle.isDefined && stamp.dropped == null) idle.get.windows.add(stamp.time)
    follow(partition, stamp)
  }

  override def punctuate(source: ByteRange, at: Long, arrival: Long, stamp: Stamp): Unit = {
    val partition = arrive(source)
    logic.punctuate(partition.clock, at, arrival, stamp)
    follow(partition, stamp)
  }

  /** Notes that something arrives in a partition. */
  private def arrive(source: ByteRange): PartitionClock = {
    val partition = find(source)
    bound = watermarkOf(partition)
    wasIdle = partition.isIdle
    partition.isIdle = false
    partition.seen = now
    partition.isChanged = true
    noteRow()
    if (estimates)
      partition.clock.arrival = math.max(partition.clock.arrival, state.arrivals.latest)
    partition
  }

  /** Advances the watermark of the windows after the clock of a partition. */
  private def follow(partition: PartitionClock, stamp: Stamp): Unit = {
    stamp.watermark = state.watermark
    if (partition.clock.arrival < arrivedBefore) overtakenRows += 1L
    state.arrivals.note(partition.clock.arrival)
    if (wasIdle || bound <= least && watermarkOf(partition) != bound) least = minimum
    move()
  }

  override def overtaken: Long = overtakenRows

  override def noteRow(): Unit = state.arrivals.seen = now

  override def tick(): Boolean = {
    policy.idlePartitionUs.foreach { silence =>
      change { p =>
        val becomesIdle = !p.isIdle && now - p.seen >= silence
        if (becomesIdle) p.isIdle = true
        becomesIdle
      }
    }
    if (estimates) state.arrivals.estimate(now)
    byRows = Some(advanced)
    val closes = idle.exists(closeIdle)
    move()
    closes
  }

  /** Closes the windows of a silent input. Returns whether there are any. */
  private def closeIdle(closing: IdleClosing): Boolean = {
    val closed = closing.lastClosed(state, now)
    val closes = closed != Watermark.NotYet
    if (closes) {
      val end = closing.endOut(closed)
      change { p =>
        val advances = end > p.clock.watermark
        if (advances) p.clock.watermark = end
        advances
      }
      state.watermark = math.max(state.watermark, closing.watermarkOut(closed))
    }
    closes
  }

  override def advance: Option[Advance] = Option.when(state.watermark > before)(
    Advance(before, state.watermark, byRows.getOrElse(state.watermark)))

  override def save(): Unit = {
    bySource.forEach((source, partition) =>
      if (partition.isChanged) store.sources.put(source.bytes, partition.bytes))
    idle.foreach { closing =>
      closing.forget(state.watermark)
      state.windows = closing.windows.saved
    }
    store.header.put(state.bytes)
  }

  /** @param of
    *   changes a partition, and returns whether it has changed
    */
  private def change(of: PartitionClock => Boolean): Unit = {
    clocks.foreach { partition =>
      if (of(partition)) partition.isChanged = true
    }
    least = minimum
  }

  private def find(source: ByteRange): PartitionClock = {
    if (last == null || !lastSource.contentEquals(source)) {
      lookup.set(source.bytes, source.offset, source.length)
      val found = bySource.get(lookup)
      last = if (found != null) found else add(KeyBytes.of(lookup.bytes))
      lastSource.set(source)
    }
    last
  }

  private def add(source: KeyBytes): PartitionClock = {
    val partition = new PartitionClock(new SourceClock, now)
    partition.isChanged = true
    // The watermark waits for the partition until it has a watermark of its own.
    least = Watermark.NotYet
    hold(source, partition)
  }

  private def hold(source: KeyBytes, partition: PartitionClock): PartitionClock = {
    bySource.put(source, partition)
    clocks += partition
    partition
  }

  private def move(): Unit = state.watermark = advanced

  /** The watermark of the windows by the clocks of the partitions. */
  private def advanced: Long = {
    val floor = if (estimates) logic.floorOf(state.arrivals.latest) else Watermark.NotYet
    math.max(state.watermark, math.max(least, floor))
  }

  private def watermarkOf(partition: PartitionClock): Long = logic.watermarkOf(partition.clock)

  /** `NotYet` if a partition has no watermark yet, or if all partitions are idle. */
  private def minimum: Long =
    if (clocks.length == 1 && !clocks(0).isIdle) watermarkOf(clocks(0)) else minimumOfAll

  private def minimumOfAll: Long = {
    var result = Long.MaxValue
    var i = 0
    while (i < clocks.length) {
      if (!clocks(i).isIdle) result = math.min(result, watermarkOf(clocks(i)))
      i += 1
    }
    if (result == Long.MaxValue) Watermark.NotYet else result
  }
}
