package transom.engine.judge

import java.util.{HashMap, HashSet}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import transom.engine.spec.{TimePolicy, WindowSpec}
import transom.engine.state.{KeyBytes, StateReader, StateWriter, UnknownStateVersion}
import transom.engine.time.Watermark
import transom.engine.window.{Grid, GridSlices, GridWindow, RowContext}

/** Judges rows by the watermarks that the tasks of their sources report, while these tasks run at
  * the same time as the windows.
  *
  * Each task reads one source, such as a partition of a topic, and says how far the watermark of
  * this source has come. The watermark of the windows is the least of all sources. A row is late
  * by the watermark of its own source. So neither depends on how the rows of several tasks
  * interleave: windows fire only after every source has passed their end, and no row that is on
  * time for its source comes after that.
  *
  * A task knows its source once it has read a row, and knows no watermark of an earlier batch. So
  * the state has the watermarks of all sources. A task without a row reads one of the sources
  * that no other task reads, and holds the watermark back no further than this source did. If
  * there are more tasks than known sources, then some task reads a source that has never had a
  * row, and there is no watermark yet.
  *
  * Two rules follow the wall clock, which acts at a tick. With `idlePartitionUs` the watermark
  * does not wait for a source that has been silent. With an idle timeout, the windows close once
  * all sources have been silent. A row is then late by the watermark of the windows too, so
  * results depend on the wall clock. The time between two batches does not count as silence,
  * because no task reads then.
  *
  * Times are microseconds since 1970, in the host's convention. Not thread-safe.
  *
  * @param windows
  *   the spec of the windows
  * @param before
  *   what the batch before has saved; null in the first batch
  */
final class ReportedWatermarks(policy: TimePolicy, windows: WindowSpec, before: Array[Byte]) {
  private val logic = new TimePolicyLogic(policy)
  private val closing = windows.idleTimeout.map(IdleClosing.of(_, windows))
  private val watchesSilence = closing.isDefined || policy.idlePartitionUs.isDefined
  private val bySource = new HashMap[KeyBytes, PartitionWatermark]
  private val byTask = ArrayBuffer.empty[PartitionWatermark]
  private val met = new SourceWatermark
  private var state = new InputState
  // `NotYet` before the first tick. Until then, the times at which rows were seen are relative to
  // the last tick of the batch before.
  private var now = Watermark.NotYet
  // Stands for the sources that have never had a row.
  private var unknown = newSource()
  private var closings = 0
  Option(before).foreach(restore)
  private var byRows = state.watermark

  /** The watermark of the windows. It never falls. */
  def watermark: Long = state.watermark

  /** The watermark of the windows before the wall clock has last closed windows, or the watermark
    * if rows have moved it since.
    */
  def watermarkByRows: Long = byRows

  /** How often windows have closed because the input was silent. */
  def idleCloses: Int = closings

  /** The greatest watermark of a source; `Watermark.NotYet` if no source has one. */
  def furthest: Long =
    bySource.values.iterator.asScala
      .map(reported => logic.watermarkOf(reported.source))
      .maxOption
      .getOrElse(Watermark.NotYet)

  /** Notes how many tasks there are.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def begin(tasks: Int): Boolean = {
    while (byTask.length < tasks) byTask += null
    move()
  }

  /** Notes which source a task reads.
    *
    * @param id
    *   the bytes that identify the source in all batches
    * @return
    *   whether the watermark of the windows has advanced
    */
  def identify(task: Int, id: Array[Byte]): Boolean = {
    byTask(task) = bySource.computeIfAbsent(KeyBytes.of(id), _ => newSource())
    see(byTask(task))
    if (!hasUnknown) unknown = newSource()
    move()
  }

  /** Notes that a task has read a row, which need not have a time. */
  def noteRow(task: Int): Unit = if (watchesSilence) {
    see(byTask(task))
    state.arrivals.seen = now
  }

  /** The watermark that a row meets.
    *
    * @param watermark
    *   see `judge`
    */
  def metBy(task: Int, watermark: Long): Long = {
    val bySource = math.max(byTask(task).source.watermark, watermark)
    if (watchesSilence) math.max(bySource, state.watermark) else bySource
  }

  /** Judges a row.
    *
    * @param task
    *   the task that has read the row; its source is known
    * @param watermark
    *   the watermark of the source before the row, by the rows of this batch alone
    * @param latestArrival
    *   the latest arrival before the row, by the rows of this batch alone
    * @param to
    *   receives the judgement
    */
  def judge(
      task: Int,
      watermark: Long,
      latestArrival: Long,
      time: Long,
      arrival: Long,
      to: Judgement): Unit = {
    val source = byTask(task).source
    met.watermark = math.max(source.watermark, watermark)
    met.arrival = math.max(source.arrival, latestArrival)
    logic.judge(met, time, arrival, RowContext.NoEnd, to)
    if (watchesSilence) to.meet(state.watermark)
    // Without a closure, because this runs for every row.
    if (closing.isDefined && to.dropped == null) closing.get.windows.add(to.time)
  }

  /** Advances the watermark of the source of a task.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def advance(task: Int, watermark: Long, arrival: Long): Boolean = {
    val reported = byTask(task)
    reported != null && {
      see(reported)
      import reported.source
      val moves = watermark > source.watermark || arrival > source.arrival
      // Otherwise another source holds the windows back, and no search is needed.
      val wasLeast = logic.watermarkOf(source) <= state.watermark
      if (moves) {
        source.watermark = math.max(source.watermark, watermark)
        source.arrival = math.max(source.arrival, arrival)
      }
      moves && wasLeast && move()
    }
  }

  /** Lets the wall clock act: finds the sources that have become silent, and closes the windows
    * of a silent input.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def tick(at: Long): Boolean = watchesSilence && {
    if (now == Watermark.NotYet) moveSeen(seen => if (seen == Watermark.NotYet) at else at + seen)
    now = at
    policy.idlePartitionUs.foreach { silence =>
      allSources.foreach(source => source.isIdle = at - source.seen >= silence)
    }
    val advances = move()
    closing.exists(closeIdle) || advances
  }

  private def moveSeen(of: Long => Long): Unit = {
    allSources.foreach(source => source.seen = of(source.seen))
    state.arrivals.seen = of(state.arrivals.seen)
  }

  private def allSources: Iterator[PartitionWatermark] =
    bySource.values.iterator.asScala ++ Iterator.single(unknown)

  /** Closes the windows of a silent input. Returns whether there are any. */
  private def closeIdle(closing: IdleClosing): Boolean = {
    val closed = closing.lastClosed(state, now)
    val closes = closed != Watermark.NotYet
    if (closes) {
      closings += 1
      val end = closing.endOut(closed)
      bySource.values.forEach { reported =>
        import reported.source
        source.watermark = math.max(source.watermark, end)
      }
      state.watermark = math.max(state.watermark, closing.watermarkOut(closed))
    }
    closes
  }

  private def newSource(): PartitionWatermark = new PartitionWatermark(new SourceWatermark, now)

  private def see(source: PartitionWatermark): Unit = {
    source.seen = now
    source.isIdle = false
  }

  /** Whether some task reads a source that has never had a row. */
  private def hasUnknown: Boolean = bySource.size < byTask.length

  private def move(): Boolean = {
    var next = if (hasUnknown && !unknown.isIdle) Watermark.NotYet else Long.MaxValue
    bySource.values.forEach { reported =>
      if (!reported.isIdle) next = math.min(next, logic.watermarkOf(reported.source))
    }
    // Without any source that is not silent, the watermark stays where it is.
    val advances = next > state.watermark && next != Long.MaxValue
    if (advances) {
      state.watermark = next
      byRows = next
    }
    advances
  }

  /** Returns what the next batch needs. The watermark of the windows may be ahead of silent
    * sources.
    *
    * {{{
    * version byte, number of sources; of each source: id, watermark
    * 1 if windows depend on silence, then: watermark of unknown sources, state of the input
    * }}}
    */
  def saved(): Array[Byte] = {
    if (now != Watermark.NotYet) moveSeen(_ - now)
    val out = new StateWriter
    out.byte(ReportedWatermarks.Version)
    out.unsigned(bySource.size)
    bySource.forEach { (id, source) =>
      out.array(id.bytes)
      out.array(source.bytes)
    }
    out.byte(if (watchesSilence) 1 else 0)
    if (watchesSilence) {
      closing.foreach { closing =>
        closing.forget(state.watermark)
        state.windows = closing.windows.saved
      }
      out.array(unknown.bytes)
      out.array(state.bytes)
    }
    out.take()
  }

  private def restore(bytes: Array[Byte]): Unit = {
    import ReportedWatermarks.Version
    val in = new StateReader(bytes)
    val version = in.byte()
    if (version != Version) throw new UnknownStateVersion("the sources", version, Version)
    (1L to in.unsigned()).foreach { _ =>
      bySource.put(KeyBytes.of(in.array()), PartitionWatermark.of(in.array()))
    }
    if (in.byte() == 1) {
      unknown = PartitionWatermark.of(in.array())
      state = InputState.read(in.array())
      closing.foreach(_.windows.restore(state.windows))
    }
  }
}

private object ReportedWatermarks {
  private final val Version = 1
}

/** Decides which rows of a source the tasks of all windows must see, because windows depend on
  * silent sources: rows that show that the source is not silent, and rows that may open windows.
  * Other rows need only reach the windows of their key. Not thread-safe.
  *
  * @param everyMs
  *   how long the tasks may see no row while rows come, in milliseconds
  * @param stretchOf
  *   the stretch of time of a row, whose first row may open windows; none if only the silence of
  *   sources matters
  */
final class SeenRows private (everyMs: Long, stretchOf: Option[Long => Long]) {
  private val stretches = new HashSet[Long]
  private var seenMs = Watermark.NotYet

  /** Whether all tasks must see a row.
    *
    * @param time
    *   the time of the row, microseconds since 1970; `RowContext.NoTime` if it has none
    * @param nowMs
    *   wall-clock time, milliseconds since 1970
    */
  def isSeen(time: Long, nowMs: Long): Boolean = {
    val opens = time != RowContext.NoTime && stretchOf.exists(of => stretches.add(of(time)))
    val isSeen = opens || seenMs == Watermark.NotYet || nowMs - seenMs >= everyMs
    if (isSeen) seenMs = nowMs
    isSeen
  }
}

object SeenRows {
  // Shorter than people wait for windows, and rare beside the rows of a busy source.
  private final val LongestMs = 100L

  /** How far apart the times of two rows of a session are seen: 10 ms. */
  private final val StepUs = 10000L

  /** None if the windows depend on no silence. */
  def of(spec: WindowSpec): Option[SeenRows] = {
    val silences = spec.idleTimeout.map(_.afterUs) ++ spec.policy.flatMap(_.idlePartitionUs)
    silences.minOption.map { least =>
      val stretchOf = spec.idleTimeout.map { _ =>
        spec.window match {
          case window: GridWindow =>
            (time: Long) => window.grid.sliceOf(window.convention.timeIn(time))
          case _ => Math.floorDiv(_: Long, StepUs)
        }
      }
      new SeenRows(math.min(LongestMs, least / 4000L), stretchOf)
    }
  }
}

/** Decides which rows of a source are on time whatever watermark the batches before have left to
  * it. The task of the source may combine these rows, and their windows need not judge them. Not
  * thread-safe.
  *
  * @param reached
  *   a watermark that no source had passed before this batch, microseconds since 1970
  */
final class OnTimeRows private (slices: GridSlices, windows: WindowSpec, reached: Long) {
  private val convention = windows.window.convention
  private val lateness = slices.lateness()

  /** Whether no window of a row has fired, by any watermark that the row may meet.
    *
    * @param time
    *   the time of the row, microseconds since 1970
    * @param watermark
    *   the watermark of the source before the row, by the rows of this batch alone
    */
  def contains(time: Long, watermark: Long): Boolean = {
    val slice = slices.sliceOf(convention.timeIn(time))
    slice != Grid.NoSlice &&
    !lateness.isPartlyLate(slice, convention.watermarkIn(math.max(reached, watermark)))
  }

  /** Throws `IllegalStateException` if a source had passed `reached` before this batch: late rows
    * would count.
    *
    * @param furthest
    *   see `ReportedWatermarks`
    */
  def check(furthest: Long): Unit =
    if (furthest > reached)
      throw new IllegalStateException(
        s"A source had the watermark $furthest before this batch, and Spark has $reached " +
          "(microseconds since 1970). So its late rows might count as rows on time. This is a " +
          "fault of transom: please report it, and go on in micro-batches")
}

object OnTimeRows {

  /** None if all rows must reach their windows one by one.
    *
    * @param windows
    *   the spec of windows that consist of slices
    * @param reached
    *   see `OnTimeRows`; none if there is no such watermark
    */
  def of(windows: WindowSpec, reached: Option[Long]): Option[OnTimeRows] =
    windows.window.sliceAssigner match {
      case slices: GridSlices if windows.rowsMayWait =>
        reached.map(new OnTimeRows(slices, windows, _))
      case _ => None
    }
}
