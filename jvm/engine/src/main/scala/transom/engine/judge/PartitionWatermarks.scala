package transom.engine.judge

import java.nio.ByteBuffer
import java.util.LinkedHashMap

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import transom.engine.runtime.{GroupInput, PartitionGauge}
import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.state.{ByteRange, KeyBytes, UnknownStateVersion}
import transom.engine.time.{Advance, Watermark}

/** Judges rows by the watermark of the whole input, for the windows behind a time stage.
  *
  * Each partition of the input has a watermark. The watermark of the windows is the least of
  * them, and never falls. A row meets the watermark that the rows before it have reached. The
  * wall clock moves the watermark only at a tick: a tick leaves silent partitions out, estimates
  * the arrival of the next row, and closes windows of a silent input.
  *
  * @param declared
  *   keys of the partitions that count before their first row
  * @param windows
  *   the spec of the windows
  * @param now
  *   wall-clock time of the batch, microseconds since 1970
  */
final class PartitionWatermarks(
    policy: TimePolicy,
    logic: TimePolicyLogic,
    declared: Seq[Array[Byte]],
    windows: WindowSpec,
    store: SourceStore,
    now: Long)
    extends Judge {
  override type Source = PartitionWatermark

  private val bySource = new LinkedHashMap[KeyBytes, PartitionWatermark]
  // The same partitions, for the loop that may run for every row.
  private val all = ArrayBuffer.empty[PartitionWatermark]
  private val idle = windows.idleTimeout.map(IdleClosing.of(_, windows))
  private val state = InputState.read(store.header.get)
  private val watermarkBefore = state.watermark
  private val arrivedBefore = state.arrivals.ofRows
  private var overtakenRows = 0L
  private val estimates = policy.estimateArrival
  private val lookup = new KeyBytes
  // The partition of the row before.
  private val lastKey = new ByteRange
  private var last: PartitionWatermark = _
  // The least watermark of all partitions that are not idle. The estimated arrival is a bound of
  // its own, because it is the same for all partitions.
  private var least = Watermark.NotYet
  // The watermark of the current row's partition before the row, and whether the partition was
  // idle.
  private var bound = Watermark.NotYet
  private var wasIdle = false
  private var byRows = Option.empty[Long]

  store.sources.entries.foreach { case (source, bytes) =>
    hold(KeyBytes.of(source), PartitionWatermark.of(bytes))
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

  override def judge(partition: PartitionWatermark, row: GroupInput.Row, to: Judgement): Unit = {
    arrive(partition)
    logic.judge(partition.source, row.context.time, row.context.arrival, row.context.end, to)
    // Without a closure, because this runs for every row.
    if (idle.isDefined && to.dropped == null) idle.get.windows.add(to.time)
    follow(partition, to)
  }

  override def punctuate(
      partition: PartitionWatermark,
      row: GroupInput.Row,
      to: Judgement): Unit = {
    arrive(partition)
    logic.punctuate(partition.source, row.context.time, row.context.arrival, to)
    follow(partition, to)
  }

  /** Notes that something arrives in a partition. */
  private def arrive(partition: PartitionWatermark): Unit = {
    bound = watermarkOf(partition)
    wasIdle = partition.isIdle
    partition.isIdle = false
    partition.seen = now
    partition.isChanged = true
    noteRow()
    if (estimates)
      partition.source.arrival = math.max(partition.source.arrival, state.arrivals.latest)
  }

  /** Advances the watermark of the windows after that of a partition. */
  private def follow(partition: PartitionWatermark, to: Judgement): Unit = {
    to.watermark = state.watermark
    if (partition.source.arrival < arrivedBefore) overtakenRows += 1L
    state.arrivals.note(partition.source.arrival)
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
        val advances = end > p.source.watermark
        if (advances) p.source.watermark = end
        advances
      }
      state.watermark = math.max(state.watermark, closing.watermarkOut(closed))
    }
    closes
  }

  override def advance: Advance =
    if (state.watermark > watermarkBefore)
      Advance(watermarkBefore, state.watermark, byRows.getOrElse(state.watermark))
    else Advance.from(watermarkBefore)

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
  private def change(of: PartitionWatermark => Boolean): Unit = {
    all.foreach { partition =>
      if (of(partition)) partition.isChanged = true
    }
    least = minimum
  }

  override def sourceOf(key: ByteRange): PartitionWatermark = {
    if (last == null || !lastKey.contentEquals(key)) {
      lookup.set(key.bytes, key.offset, key.length)
      val found = bySource.get(lookup)
      last = if (found != null) found else add(KeyBytes.of(lookup.bytes))
      lastKey.set(key)
    }
    last
  }

  private def add(source: KeyBytes): PartitionWatermark = {
    val partition = new PartitionWatermark(new SourceWatermark, now)
    partition.isChanged = true
    // The watermark waits for the partition until it has a watermark of its own.
    least = Watermark.NotYet
    hold(source, partition)
  }

  private def hold(source: KeyBytes, partition: PartitionWatermark): PartitionWatermark = {
    bySource.put(source, partition)
    all += partition
    partition
  }

  private def move(): Unit = state.watermark = advanced

  /** The watermark of the windows by those of the partitions. */
  private def advanced: Long = {
    val floor = if (estimates) logic.floorOf(state.arrivals.latest) else Watermark.NotYet
    math.max(state.watermark, math.max(least, floor))
  }

  private def watermarkOf(partition: PartitionWatermark): Long =
    logic.watermarkOf(partition.source)

  /** `NotYet` if a partition has no watermark yet, or if all partitions are idle. */
  private def minimum: Long =
    if (all.length == 1 && !all(0).isIdle) watermarkOf(all(0)) else minimumOfAll

  private def minimumOfAll: Long = {
    var result = Long.MaxValue
    var i = 0
    while (i < all.length) {
      if (!all(i).isIdle) result = math.min(result, watermarkOf(all(i)))
      i += 1
    }
    if (result == Long.MaxValue) Watermark.NotYet else result
  }
}

/** The watermark of an input partition, and how long the partition has been silent.
  *
  * @param seen
  *   wall-clock time of the batch with the last row, microseconds since 1970. Before the first
  *   row: the wall-clock time at which the partition was first known.
  */
final class PartitionWatermark private[judge] (val source: SourceWatermark, var seen: Long) {

  /** Whether the watermark of the input does not wait for this partition. */
  var isIdle: Boolean = false

  /** Whether the state in memory may differ from the store. */
  var isChanged: Boolean = false

  def bytes: Array[Byte] = {
    val own = source.bytes
    ByteBuffer
      .allocate(own.length + PartitionWatermark.Size)
      .put(own)
      .putLong(seen)
      .put(if (isIdle) 1.toByte else 0.toByte)
      .array
  }
}

private[judge] object PartitionWatermark {
  private final val Size = 9

  def of(bytes: Array[Byte]): PartitionWatermark = {
    val in = ByteBuffer.wrap(bytes, bytes.length - Size, Size)
    val partition = new PartitionWatermark(SourceWatermark.of(bytes), in.getLong())
    partition.isIdle = in.get() != 0
    partition
  }
}

/** What a time stage keeps about the whole input besides its partitions. Times are microseconds
  * since 1970, or `Watermark.NotYet`.
  */
private[judge] final class InputState {

  /** The watermark of the windows. */
  var watermark: Long = Watermark.NotYet

  /** The arrivals of the rows of the input. */
  val arrivals: Arrivals = new Arrivals

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

private[judge] object InputState {
  private val Version: Byte = 1
  private final val Size = 9 + Arrivals.Size

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
