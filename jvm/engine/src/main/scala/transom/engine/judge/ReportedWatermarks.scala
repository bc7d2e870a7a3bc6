package transom.engine.judge

import java.util.HashMap

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{KeyBytes, StateMap}
import transom.engine.time.Watermark
import transom.engine.window.RowContext

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
  * With an idle timeout, the watermark does not wait for silent sources. A row of such a source
  * is late by the watermark of the windows too. Then results depend on the wall clock.
  *
  * Times are microseconds since 1970, in the host's convention. Not thread-safe.
  *
  * @param store
  *   the watermark of each source
  * @param idleUs
  *   how long a source may be silent before the watermark no longer waits for it, in microseconds
  *   of the wall clock; none if the watermark always waits
  */
final class ReportedWatermarks(logic: TimePolicyLogic, store: StateMap, idleUs: Option[Long]) {
  private val bySource = new HashMap[KeyBytes, Source]
  private val byTask = ArrayBuffer.empty[Source]
  private val met = new SourceWatermark
  private var least = Watermark.NotYet
  private var begunAt = Watermark.NotYet
  private var now = Watermark.NotYet
  store.entries.foreach { case (id, bytes) =>
    val state = SourceWatermark.of(bytes)
    if (id.isEmpty) least = state.watermark else bySource.put(KeyBytes.of(id), new Source(state))
  }

  /** The watermark of the windows. It never falls. */
  def watermark: Long = least

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
    byTask(task) = bySource.computeIfAbsent(KeyBytes.of(id), _ => new Source(new SourceWatermark))
    see(byTask(task))
    move()
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
    val source = byTask(task)
    met.watermark = math.max(source.state.watermark, watermark)
    met.arrival = math.max(source.state.arrival, latestArrival)
    logic.judge(met, time, arrival, RowContext.NoEnd, to)
    if (idleUs.isDefined) {
      see(source)
      to.meet(least)
    }
  }

  /** Advances the watermark of the source of a task.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def advance(task: Int, watermark: Long, arrival: Long): Boolean = {
    val source = byTask(task)
    source != null && {
      see(source)
      import source.state
      val moves = watermark > state.watermark || arrival > state.arrival
      if (moves) {
        state.watermark = math.max(state.watermark, watermark)
        state.arrival = math.max(state.arrival, arrival)
        source.isChanged = true
      }
      moves && move()
    }
  }

  /** Lets the wall clock act: finds the sources that have become silent.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def tick(at: Long): Boolean = {
    now = at
    if (begunAt == Watermark.NotYet) begunAt = at
    idleUs.exists { silence =>
      bySource.values.forEach { source =>
        if (source.seen == Watermark.NotYet) source.seen = at
        source.isIdle = at - source.seen >= silence
      }
      move()
    }
  }

  private def see(source: Source): Unit = {
    source.seen = now
    source.isIdle = false
  }

  private def move(): Boolean = {
    val silentSince = if (begunAt == Watermark.NotYet) 0L else now - begunAt
    var next = Long.MaxValue
    if (bySource.size < byTask.length && !idleUs.exists(silentSince >= _)) next = Watermark.NotYet
    bySource.values.forEach { source =>
      if (!source.isIdle) next = math.min(next, logic.watermarkOf(source.state))
    }
    // Without any source that is not silent, the watermark stays where it is.
    val advances = next > least && next != Long.MaxValue
    if (advances) least = next
    advances
  }

  /** Writes the watermarks of the sources. The watermark of the windows has no id: it may be
    * ahead of silent sources.
    */
  def save(): Unit = {
    bySource.forEach { (id, source) =>
      if (source.isChanged) store.put(id.bytes, source.state.bytes)
      source.isChanged = false
    }
    if (idleUs.isDefined) {
      met.watermark = least
      store.put(Array.emptyByteArray, met.bytes)
    }
  }

  private final class Source(val state: SourceWatermark) {
    var seen: Long = now
    var isIdle: Boolean = false
    var isChanged: Boolean = false
  }
}
