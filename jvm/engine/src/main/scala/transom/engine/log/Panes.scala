package transom.engine.log

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

/** Segments `first` until `first + segments` of a pane, which continue each other in sorted
  * order.
  */
final case class Run(first: Int, segments: Int, bytes: Long)

/** What the directory knows of one live pane, or of one block of panes.
  *
  * @param level
  *   0 for a pane, else that of the block, see [[Blocks]]
  */
final class Pane(val start: Long, val level: Int = 0) {
  val runs: ArrayBuffer[Run] = ArrayBuffer.empty

  /** The earliest last time of its sessions, see [[SessionLog]]; fixed windows do not use it. */
  var due: Long = Long.MaxValue

  def bytes: Long = runs.iterator.map(_.bytes).sum

  // Each level has numbers of its own, so that a block and a pane may start at the same time.
  def nextSequence: Int =
    runs.lastOption.fold(level << Pane.LevelShift)(run => run.first + run.segments)
}

private object Pane {
  val LevelShift = 27
}

/** The directory of one key group: its live panes, their runs, and how far it has fired. Read
  * whole when the group is touched and saved once afterwards, so that a batch costs one small
  * read and write a group whatever lies in the panes.
  */
final class Panes(store: Store) {
  private val live = new util.TreeMap[Long, Pane]
  private val blocks = mutable.TreeMap.empty[(Long, Int), Pane]
  private var highest = 0

  /** No window that is due at or before this will fire any more. */
  var firedUpTo: Long = Long.MinValue

  /** The timer that is set for the group, in milliseconds. */
  var timer: Option[Long] = None

  Option(store.directory).foreach(Panes.read(_, this))

  def isEmpty: Boolean = live.isEmpty

  def first: Option[Pane] = Option(live.firstEntry).map(_.getValue)

  def get(start: Long): Option[Pane] = Option(live.get(start))

  /** The first live pane that starts after `start`. */
  def after(start: Long): Option[Pane] = Option(live.higherEntry(start)).map(_.getValue)

  def all: Iterator[Pane] = live.values.iterator.asScala

  /** The live panes that start in `[from, until)`, in order. */
  def between(from: Long, until: Long): Seq[Pane] =
    live.subMap(from, true, until, false).values.asScala.toSeq

  def cursors(pane: Pane): Seq[Cursor] = pane.runs.toSeq.map(cursor(pane, _))

  private def cursor(pane: Pane, run: Run): Cursor =
    new Cursor(Iterator.range(run.first, run.first + run.segments).map(store.get(pane.start, _)))

  /** A pane that may be new. */
  def open(start: Long): Pane = live.computeIfAbsent(start, new Pane(_))

  def block(start: Long, level: Int): Option[Pane] = blocks.get((start, level))

  /** The highest level that a block of this visit has had, 0 if there was none. */
  def highestLevel: Int = highest

  def openBlock(start: Long, level: Int): Pane = {
    highest = math.max(highest, level)
    blocks.getOrElseUpdate((start, level), new Pane(start, level))
  }

  def removeBlocksBefore(start: Long): Unit =
    blocks.rangeUntil((start, 0)).toSeq.foreach { case (at, block) =>
      block.runs.foreach(removeSegments(block, _))
      blocks.remove(at)
    }

  /** Adds a segment to a pane or block, a run of its own. */
  def append(pane: Pane, segment: Array[Byte]): Unit = {
    val sequence = pane.nextSequence
    store.put(pane.start, sequence, segment)
    pane.runs += Run(sequence, 1, segment.length.toLong)
  }

  /** A run that is about to be written to a pane or block, segment by segment. */
  def newRun(pane: Pane): RunWriter = new RunWriter(store, pane, pane.nextSequence)

  def remove(pane: Pane): Unit = {
    pane.runs.foreach(removeSegments(pane, _))
    live.remove(pane.start)
  }

  def removeRuns(pane: Pane, runs: Seq[Run]): Unit = {
    runs.foreach(removeSegments(pane, _))
    pane.runs --= runs
    if (pane.runs.isEmpty) live.remove(pane.start)
  }

  private def removeSegments(pane: Pane, run: Run): Unit =
    Iterator.range(run.first, run.first + run.segments).foreach(store.remove(pane.start, _))

  /** The newest runs of a pane that are worth merging into one, empty if there are few. Of
    * similar size, so that a record is rewritten a number of times that grows with the logarithm
    * of the pane.
    */
  def crowded(pane: Pane): Seq[Run] =
    if (pane.runs.length <= Panes.MaxRuns) Nil
    else {
      var newer = 0L
      val suffix = pane.runs.reverseIterator.takeWhile { run =>
        val similar = newer == 0L || run.bytes <= 2 * newer
        newer += run.bytes
        similar
      }.toSeq
      if (suffix.length > 1) suffix.reverse else pane.runs.takeRight(2).toSeq
    }

  /** Merges some runs of a pane into a new one; `write` copies what the cursors hold. */
  def compact(pane: Pane, runs: Seq[Run])(write: (Seq[Cursor], RunWriter) => Unit): Unit = {
    val writer = newRun(pane)
    write(runs.map(cursor(pane, _)), writer)
    writer.close()
    removeRuns(pane, runs)
  }

  def save(): Unit =
    if (live.isEmpty && timer.isEmpty) store.removeDirectory()
    else store.saveDirectory(Panes.write(this))
}

object Panes {
  private val Version: Byte = 1
  private val NoTimer = Long.MinValue
  private val HeaderSize = 21
  private val PaneSize = 21
  private val RunSize = 16

  /** Runs a pane may have before some are merged. */
  val MaxRuns = 8

  private def write(panes: Panes): Array[Byte] = {
    val held = panes.all ++ panes.blocks.valuesIterator
    val count = panes.live.size + panes.blocks.size
    val runs = (panes.all ++ panes.blocks.valuesIterator).map(_.runs.length).sum
    val out = ByteBuffer.allocate(HeaderSize + PaneSize * count + RunSize * runs)
    out.put(Version).putLong(panes.firedUpTo).putLong(panes.timer.getOrElse(NoTimer))
    out.putInt(count)
    held.foreach { pane =>
      out.putLong(pane.start).put(pane.level.toByte).putLong(pane.due).putInt(pane.runs.length)
      pane.runs.foreach(run => out.putInt(run.first).putInt(run.segments).putLong(run.bytes))
    }
    out.array
  }

  private def read(bytes: Array[Byte], panes: Panes): Unit = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version) throw new UnknownSegmentVersion(version.toInt)
    panes.firedUpTo = in.getLong()
    panes.timer = Some(in.getLong()).filter(_ != NoTimer)
    (0 until in.getInt()).foreach { _ =>
      val start = in.getLong()
      val level = in.get().toInt
      val pane = if (level == 0) panes.open(start) else panes.openBlock(start, level)
      pane.due = in.getLong()
      (0 until in.getInt()).foreach(_ => pane.runs += Run(in.getInt(), in.getInt(), in.getLong()))
    }
  }
}

/** Writes sorted records as a run of a pane, a segment at a time, so that it need not fit in
  * memory.
  */
final class RunWriter(store: Store, pane: Pane, first: Int) {
  private val writer = new SegmentWriter
  private var segments = 0
  private var bytes = 0L

  def append(hash: Long, key: Slice, accumulator: Slice): Unit = {
    writer.append(hash, key, accumulator)
    if (writer.isFull) flush()
  }

  def append(hash: Long, key: Slice, bounds: SessionBounds, accumulator: Slice): Unit = {
    writer.append(hash, key, bounds, accumulator)
    pane.due = math.min(pane.due, bounds.last)
    if (writer.isFull) flush()
  }

  /** Enters the run in the directory, unless it is empty. */
  def close(): Unit = {
    if (!writer.isEmpty) flush()
    if (segments > 0) pane.runs += Run(first, segments, bytes)
  }

  private def flush(): Unit = {
    val segment = writer.take()
    store.put(pane.start, first + segments, segment)
    segments += 1
    bytes += segment.length
  }
}
