package transom.engine.log

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

/** Segments of a pane from `first` on, which continue each other in sorted order. Where each lies
  * among the hashes, and when it is due, is known only where sessions are looked up by key.
  */
final case class Run(first: Int, segments: Int, bytes: Long, parts: Vector[Part] = Vector.empty)

/** A segment with sessions: its first and last hash, and the earliest last time of those sessions
  * that may still close.
  */
final class Part(val from: Long, val to: Long, var due: Long) {

  /** Whether one of the hashes, which are in order, may be in it. */
  def mayHold(hashes: Array[Long]): Boolean = {
    val found = util.Arrays.binarySearch(hashes, from)
    val next = if (found < 0) -found - 1 else found
    next < hashes.length && hashes(next) <= to
  }
}

/** What the directory knows of one live pane, or of one block of panes.
  *
  * @param level
  *   0 for a pane, else that of the block, see [[Blocks]]
  */
final class Pane(val start: Long, val level: Int = 0) {
  val runs: ArrayBuffer[Run] = ArrayBuffer.empty

  /** The earliest last time of its sessions, see [[SessionLog]]; `Long.MaxValue` if none may
    * close any more.
    */
  def due: Long = parts.foldLeft(Long.MaxValue)((least, part) => math.min(least, part.due))

  def parts: Iterator[Part] = runs.iterator.flatMap(_.parts)

  def bytes: Long = runs.foldLeft(0L)((sum, run) => sum + run.bytes)

  // Each level has numbers of its own, so that a block and a pane may start at the same time.
  def nextSequence: Int =
    runs.lastOption.fold(level << Pane.LevelShift)(run => run.first + run.segments)
}

private object Pane {
  final val LevelShift = 27
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

  def all: Iterator[Pane] = live.values.iterator.asScala

  /** The live panes that start in `[from, until)`, in order. */
  def between(from: Long, until: Long): Seq[Pane] =
    live.subMap(from, true, until, false).values.asScala.toSeq

  def cursors(pane: Pane): Seq[Cursor] = pane.runs.toSeq.map(cursor(pane, _))

  private def cursor(pane: Pane, run: Run): Cursor =
    new Cursor(Iterator.range(run.first, run.first + run.segments).map(store.get(pane.start, _)))

  /** What a pane has of some hashes, which are in order, and of those near them: the segments
    * alone that may hold one.
    */
  def cursors(pane: Pane, hashes: Array[Long]): Seq[Cursor] = pane.runs.toSeq.flatMap { run =>
    val held = run.parts.indices.filter(run.parts(_).mayHold(hashes))
    if (held.isEmpty) None
    else Some(new Cursor(held.iterator.map(i => store.get(pane.start, run.first + i))))
  }

  /** The segments with sessions that may be due by their last times, each with its part. */
  def due(pane: Pane, last: Long): Iterator[(Part, Cursor)] = for {
    run <- pane.runs.iterator
    (part, i) <- run.parts.iterator.zipWithIndex
    if part.due <= last
  } yield (part, new Cursor(Iterator.single(store.get(pane.start, run.first + i))))

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

  /** Adds a segment of windows to a pane or block, a run of its own. */
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
  private val Version: Byte = 2
  private final val NoTimer = Long.MinValue
  private final val HeaderSize = 21
  private final val PaneSize = 13
  private final val RunSize = 20
  private final val PartSize = 24

  /** Runs a pane may have before some are merged. */
  final val MaxRuns = 8

  /** What the directory is to know of a segment, if it has sessions. */
  private[log] def part(segment: Array[Byte]): Option[Part] = {
    val due = Segment.due(segment)
    val (from, to) = Segment.hashes(segment)
    if (due == Long.MaxValue) None else Some(new Part(from, to, due))
  }

  private def write(panes: Panes): Array[Byte] = {
    val held = (panes.all ++ panes.blocks.valuesIterator).toVector
    val runs = held.iterator.map(_.runs.length).sum
    val parts = held.iterator.map(_.parts.length).sum
    val size = HeaderSize + PaneSize * held.length + RunSize * runs + PartSize * parts
    val out = ByteBuffer.allocate(size)
    out.put(Version).putLong(panes.firedUpTo).putLong(panes.timer.getOrElse(NoTimer))
    out.putInt(held.length)
    held.foreach { pane =>
      out.putLong(pane.start).put(pane.level.toByte).putInt(pane.runs.length)
      pane.runs.foreach { run =>
        out.putInt(run.first).putInt(run.segments).putLong(run.bytes).putInt(run.parts.length)
        run.parts.foreach(part => out.putLong(part.from).putLong(part.to).putLong(part.due))
      }
    }
    out.array
  }

  private def read(bytes: Array[Byte], panes: Panes): Unit = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version) throw new UnknownSegmentVersion(version.toInt, Version.toInt)
    panes.firedUpTo = in.getLong()
    panes.timer = Some(in.getLong()).filter(_ != NoTimer)
    (0 until in.getInt()).foreach { _ =>
      val start = in.getLong()
      val level = in.get().toInt
      val pane = if (level == 0) panes.open(start) else panes.openBlock(start, level)
      pane.runs ++= Vector.fill(in.getInt())(readRun(in))
    }
  }

  private def readRun(in: ByteBuffer): Run = {
    val (first, segments, bytes) = (in.getInt(), in.getInt(), in.getLong())
    val parts = Vector.fill(in.getInt())(new Part(in.getLong(), in.getLong(), in.getLong()))
    Run(first, segments, bytes, parts)
  }
}

/** Writes sorted records as a run of a pane, a segment at a time, so that it need not fit in
  * memory.
  */
final class RunWriter(store: Store, pane: Pane, first: Int) {
  private val writer = new SegmentWriter
  private val parts = Vector.newBuilder[Part]
  private var segments = 0
  private var bytes = 0L

  def append(hash: Long, key: Slice, accumulator: Slice): Unit = {
    writer.append(hash, key, accumulator)
    if (writer.isFull) flush()
  }

  def append(hash: Long, key: Slice, bounds: SessionBounds, accumulator: Slice): Unit = {
    writer.append(hash, key, bounds, accumulator)
    if (writer.isFull) flush()
  }

  /** Enters the run in the directory, unless it is empty. */
  def close(): Unit = {
    if (!writer.isEmpty) flush()
    if (segments > 0) pane.runs += Run(first, segments, bytes, parts.result())
  }

  private def flush(): Unit = {
    val segment = writer.take()
    store.put(pane.start, first + segments, segment)
    parts ++= Panes.part(segment)
    segments += 1
    bytes += segment.length
  }
}
