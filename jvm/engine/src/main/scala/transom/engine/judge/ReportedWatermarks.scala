package transom.engine.judge

import java.nio.ByteBuffer
import java.util.HashMap

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{KeyBytes, StateMap, UnknownStateVersion}
import transom.engine.time.Watermark

/** The watermarks of the sources of an input whose tasks run at the same time as the windows.
  *
  * Each task reads one source, such as a partition of a topic, and reports how far the watermark of
  * its source has come. The watermark of the windows is the least of all sources. A row is late by
  * the watermark of its own source. So neither depends on how the rows of several tasks interleave:
  * windows fire only after every source has passed their end, and no row that is on time for its
  * source comes after that.
  *
  * A task knows its source once it has read a row, and it knows no watermark of an earlier batch.
  * So the watermarks of all sources are kept in the state. A task without a row reads one of the
  * sources that no other task reads, and does not hold the watermark back further than this source
  * did. If there are more tasks than known sources, then some task reads a source that has never
  * had a row, and there is no watermark yet.
  *
  * Watermarks are microseconds since 1970, in the host's convention. Not thread-safe.
  *
  * @param store
  *   the watermark of each source
  */
final class ReportedWatermarks(store: StateMap) {
  private val bySource = new HashMap[KeyBytes, Source]
  private val byTask = ArrayBuffer.empty[Source]
  private var least = Watermark.NotYet
  store.entries.foreach { case (key, bytes) =>
    bySource.put(KeyBytes.of(key), new Source(ReportedWatermarks.read(bytes)))
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
    byTask(task) = bySource.computeIfAbsent(KeyBytes.of(id), _ => new Source(Watermark.NotYet))
    move()
  }

  /** The watermark that a row has met.
    *
    * @param sinceBegin
    *   the watermark before the row by the rows of this batch alone
    */
  def met(task: Int, sinceBegin: Long): Long = math.max(byTask(task).watermark, sinceBegin)

  /** Advances the watermark of the source of a task.
    *
    * @return
    *   whether the watermark of the windows has advanced
    */
  def advance(task: Int, watermark: Long): Boolean = {
    val source = byTask(task)
    source != null && watermark > source.watermark && {
      source.watermark = watermark
      source.isChanged = true
      move()
    }
  }

  private def move(): Boolean = {
    var next = Watermark.NotYet
    if (bySource.size >= byTask.length) {
      next = Long.MaxValue
      bySource.values.forEach(source => next = math.min(next, source.watermark))
    }
    val advances = next > least && next != Long.MaxValue
    if (advances) least = next
    advances
  }

  /** Writes the watermarks of the sources. */
  def save(): Unit = bySource.forEach { (id, source) =>
    if (source.isChanged) store.put(id.bytes, ReportedWatermarks.write(source.watermark))
    source.isChanged = false
  }

  private final class Source(var watermark: Long) {
    var isChanged = false
  }
}

/** The format of a watermark in the state.
  *
  * {{{
  * version byte, watermark long
  * }}}
  */
private object ReportedWatermarks {
  private val Version: Byte = 1

  private def write(watermark: Long): Array[Byte] =
    ByteBuffer.allocate(9).put(Version).putLong(watermark).array

  private def read(bytes: Array[Byte]): Long = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version)
      throw new UnknownStateVersion("the watermark of a source", version, Version)
    in.getLong()
  }
}
