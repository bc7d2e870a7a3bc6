package transom.engine.log

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

/** Segments of a slice from `first` on, which continue each other in sorted order. Where each
  * lies among the hashes, and when it is due, is known only where sessions are looked up by key.
  */
final case class Run(first: Int, segments: Int, bytes: Long, parts: Vector[Part] = Vector.empty)

/** A segment with sessions: its first and last hash, and the earliest last time of those sessions
  * that may still close.
  */
final class Part(val from: Long, val to: Long, var earliestLast: Long) {

  /** Whether one of the hashes, which are in order, may be in it. */
  def mayHold(hashes: Array[Long]): Boolean = {
    val found = util.Arrays.binarySearch(hashes, from)
    val next = if (found < 0) -found - 1 else found
    next < hashes.length && hashes(next) <= to
  }
}

/** What the directory knows of one live slice, or of one block of slices.
  *
  * @param level
  *   0 for a slice, else that of the block, see [[Blocks]]
  */
final class Slice(val start: Long, val level: Int = 0) {
  val runs: ArrayBuffer[Run] = ArrayBuffer.empty

  /** The earliest last time of its sessions, see [[SessionLog]]; `Long.MaxValue` if none may
    * close any more.
    */
  def earliestLast: Long =
    parts.foldLeft(Long.MaxValue)((least, part) => math.min(least, part.earliestLast))

  def parts: Iterator[Part] = runs.iterator.flatMap(_.parts)

  def bytes: Long = runs.foldLeft(0L)((sum, run) => sum + run.bytes)

  // Each level has numbers of its own, so that a block and a slice may start at the same time.
  def nextSequence: Int =
    runs.lastOption.fold(level << Slice.LevelShift)(run => run.first + run.segments)
}

private object Slice {
  final val LevelShift = 27
}

/** The directory of one key group: its live slices, their runs, and how far it has fired. Read
  * whole when the group is touched and saved once afterwards, so that a batch costs one small
  * read and write a group whatever lies in the slices.
  */
final class SliceDirectory(store: Store) {
  private val live = new util.TreeMap[Long, Slice]
  private val blocks = mutable.TreeMap.empty[(Long, Int), Slice]
  private var highest = 0

  /** No window that is due at or before this will fire any more. */
  var firedUpTo: Long = Long.MinValue

  /** The timer that is set for the group, in milliseconds. */
  var timer: Option[Long] = None

  Option(store.directory).foreach(SliceDirectory.read(_, this))

  def isEmpty: Boolean = live.isEmpty

  def first: Option[Slice] = Option(live.firstEntry).map(_.getValue)

  def get(start: Long): Option[Slice] = Option(live.get(start))

  def all: Iterator[Slice] = live.values.iterator.asScala

  /** The live slices that start in `[from, until)`, in order. */
  def between(from: Long, until: Long): Seq[Slice] =
    live.subMap(from, true, until, false).values.asScala.toSeq

  def cursors(slice: Slice): Seq[Cursor] = slice.runs.toSeq.map(cursor(slice, _))

  private def cursor(slice: Slice, run: Run): Cursor =
    new Cursor(Iterator.range(run.first, run.first + run.segments).map(store.get(slice.start, _)))

  /** What a slice has of some hashes, which are in order, and of those near them: the segments
    * alone that may hold one.
    */
  def cursors(slice: Slice, hashes: Array[Long]): Seq[Cursor] = slice.runs.toSeq.flatMap { run =>
    val held = run.parts.indices.filter(run.parts(_).mayHold(hashes))
    if (held.isEmpty) None
    else Some(new Cursor(held.iterator.map(i => store.get(slice.start, run.first + i))))
  }

  /** The segments with sessions that may be due by their last times, each with its part. */
  def closing(slice: Slice, last: Long): Iterator[(Part, Cursor)] = for {
    run <- slice.runs.iterator
    (part, i) <- run.parts.iterator.zipWithIndex
    if part.earliestLast <= last
  } yield (part, new Cursor(Iterator.single(store.get(slice.start, run.first + i))))

  /** A slice that may be new. */
  def open(start: Long): Slice = live.computeIfAbsent(start, new Slice(_))

  def block(start: Long, level: Int): Option[Slice] = blocks.get((start, level))

  /** The highest level that a block has had in this batch, 0 if there was none. */
  def highestLevel: Int = highest

  def openBlock(start: Long, level: Int): Slice = {
    highest = math.max(highest, level)
    blocks.getOrElseUpdate((start, level), new Slice(start, level))
  }

  def removeBlocksBefore(start: Long): Unit =
    blocks.rangeUntil((start, 0)).toSeq.foreach { case (at, block) =>
      block.runs.foreach(removeSegments(block, _))
      blocks.remove(at)
    }

  /** Adds a segment of windows to a slice or block, a run of its own. */
  def append(slice: Slice, segment: Array[Byte]): Unit = {
    val sequence = slice.nextSequence
    store.put(slice.start, sequence, segment)
    slice.runs += Run(sequence, 1, segment.length.toLong)
  }

  /** A run that is about to be written to a slice or block, segment by segment. */
  def newRun(slice: Slice): RunWriter = new RunWriter(store, slice, slice.nextSequence)

  def remove(slice: Slice): Unit = {
    slice.runs.foreach(removeSegments(slice, _))
    live.remove(slice.start)
  }

  def removeRuns(slice: Slice, runs: Seq[Run]): Unit = {
    runs.foreach(removeSegments(slice, _))
    slice.runs --= runs
    if (slice.runs.isEmpty) live.remove(slice.start)
  }

  private def removeSegments(slice: Slice, run: Run): Unit =
    Iterator.range(run.first, run.first + run.segments).foreach(store.remove(slice.start, _))

  /** The newest runs of a slice that are worth merging into one, empty if there are few. Of
    * similar size, so that a record is rewritten a number of times that grows with the logarithm
    * of the slice.
    */
  def crowded(slice: Slice): Seq[Run] =
    if (slice.runs.length <= SliceDirectory.MaxRuns) Nil
    else {
      var newer = 0L
      val suffix = slice.runs.reverseIterator.takeWhile { run =>
        val similar = newer == 0L || run.bytes <= 2 * newer
        newer += run.bytes
        similar
      }.toSeq
      if (suffix.length > 1) suffix.reverse else slice.runs.takeRight(2).toSeq
    }

  /** Merges some runs of a slice into a new one; `write` copies what the cursors hold. */
  def compact(slice: Slice, runs: Seq[Run])(write: (Seq[Cursor], RunWriter) => Unit): Unit = {
    val writer = newRun(slice)
    write(runs.map(cursor(slice, _)), writer)
    writer.close()
    removeRuns(slice, runs)
  }

  def save(): Unit =
    if (live.isEmpty && timer.isEmpty) store.removeDirectory()
    else store.saveDirectory(SliceDirectory.write(this))
}

object SliceDirectory {
  private val Version: Byte = 2
  private final val NoTimer = Long.MinValue
  private final val HeaderSize = 21
  private final val SliceSize = 13
  private final val RunSize = 20
  private final val PartSize = 24

  /** Runs a slice may have before some are merged. */
  final val MaxRuns = 8

  /** What the directory is to know of a segment, if it has sessions. */
  private[log] def part(segment: Array[Byte]): Option[Part] = {
    val earliestLast = Segment.earliestLast(segment)
    val (from, to) = Segment.hashes(segment)
    if (earliestLast == Long.MaxValue) None else Some(new Part(from, to, earliestLast))
  }

  private def write(slices: SliceDirectory): Array[Byte] = {
    val held = (slices.all ++ slices.blocks.valuesIterator).toVector
    val runs = held.iterator.map(_.runs.length).sum
    val parts = held.iterator.map(_.parts.length).sum
    val size = HeaderSize + SliceSize * held.length + RunSize * runs + PartSize * parts
    val out = ByteBuffer.allocate(size)
    out.put(Version).putLong(slices.firedUpTo).putLong(slices.timer.getOrElse(NoTimer))
    out.putInt(held.length)
    held.foreach { slice =>
      out.putLong(slice.start).put(slice.level.toByte).putInt(slice.runs.length)
      slice.runs.foreach { run =>
        out.putInt(run.first).putInt(run.segments).putLong(run.bytes).putInt(run.parts.length)
        run.parts.foreach(part =>
          out.putLong(part.from).putLong(part.to).putLong(part.earliestLast))
      }
    }
    out.array
  }

  private def read(bytes: Array[Byte], slices: SliceDirectory): Unit = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version) throw new UnknownSegmentVersion(version.toInt, Version.toInt)
    slices.firedUpTo = in.getLong()
    slices.timer = Some(in.getLong()).filter(_ != NoTimer)
    (0 until in.getInt()).foreach { _ =>
      val start = in.getLong()
      val level = in.get().toInt
      val slice = if (level == 0) slices.open(start) else slices.openBlock(start, level)
      slice.runs ++= Vector.fill(in.getInt())(readRun(in))
    }
  }

  private def readRun(in: ByteBuffer): Run = {
    val (first, segments, bytes) = (in.getInt(), in.getInt(), in.getLong())
    val parts = Vector.fill(in.getInt())(new Part(in.getLong(), in.getLong(), in.getLong()))
    Run(first, segments, bytes, parts)
  }
}

/** Writes sorted records as a run of a slice, a segment at a time, so that it need not fit in
  * memory.
  */
final class RunWriter(store: Store, slice: Slice, first: Int) {
  private val writer = new SegmentWriter
  private val parts = Vector.newBuilder[Part]
  private var segments = 0
  private var bytes = 0L

  def append(hash: Long, key: ByteRange, accumulator: ByteRange): Unit = {
    writer.append(hash, key, accumulator)
    if (writer.isFull) flush()
  }

  def append(hash: Long, key: ByteRange, bounds: SessionBounds, accumulator: ByteRange): Unit = {
    writer.append(hash, key, bounds, accumulator)
    if (writer.isFull) flush()
  }

  /** Enters the run in the directory, unless it is empty. */
  def close(): Unit = {
    if (!writer.isEmpty) flush()
    if (segments > 0) slice.runs += Run(first, segments, bytes, parts.result())
  }

  private def flush(): Unit = {
    val segment = writer.take()
    store.put(slice.start, first + segments, segment)
    parts ++= SliceDirectory.part(segment)
    segments += 1
    bytes += segment.length
  }
}
