package transom.engine.state

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** The directory of one key group: its live slices and blocks, and how far it has fired.
  *
  * A task reads the directory as a whole when it opens the key group, and saves it once with
  * `save`. So a batch reads and writes one value per key group. Its size grows with the number of
  * live slices and segments, not with keys. Not thread-safe.
  *
  * @param store
  *   the store of the key group
  */
final class SliceDirectory(store: SegmentStore) {
  private val live = new util.TreeMap[Long, Slice]
  private val blocks = mutable.TreeMap.empty[(Long, Int), Slice]
  private var highest = 0

  /** The watermark up to which windows have fired, in microseconds. No window that ends by it
    * fires again.
    */
  var firedUpTo: Long = Long.MinValue

  Option(store.directory).foreach(SliceDirectory.read(_, this))

  def isEmpty: Boolean = live.isEmpty

  def first: Option[Slice] = Option(live.firstEntry).map(_.getValue)

  def last: Option[Slice] = Option(live.lastEntry).map(_.getValue)

  def get(start: Long): Option[Slice] = Option(live.get(start))

  def all: Iterator[Slice] = live.values.iterator.asScala

  /** The live slices that start in `[from, until)`, in order. */
  def between(from: Long, until: Long): Seq[Slice] =
    live.subMap(from, true, until, false).values.asScala.toSeq

  /** Opens one cursor per run of the slice. */
  def cursors(slice: Slice): Seq[Cursor] = slice.runs.toSeq.map(cursor(slice, _))

  private def cursor(slice: Slice, run: Run): Cursor =
    new Cursor(Iterator.range(run.first, run.first + run.segments).map(store.get(slice.start, _)))

  /** Opens cursors over the segments of a slice that may hold one of the hashes. The cursors also
    * return records of other hashes in these segments.
    *
    * @param slice
    *   a slice of sessions
    * @param hashes
    *   the sorted hashes
    */
  def cursors(slice: Slice, hashes: Array[Long]): Seq[Cursor] = slice.runs.toSeq.flatMap { run =>
    val held = run.parts.indices.filter(run.parts(_).mayHold(hashes))
    if (held.isEmpty) None
    else Some(new Cursor(held.iterator.map(i => store.get(slice.start, run.first + i))))
  }

  /** The segments that may hold closing sessions, each with its part.
    *
    * @param slice
    *   a slice of sessions
    * @param last
    *   a session closes if its last row is at or before this time, in microseconds
    */
  def closing(slice: Slice, last: Long): Iterator[(StoredSegment, Cursor)] = for {
    run <- slice.runs.iterator
    (part, i) <- run.parts.iterator.zipWithIndex
    if part.earliestLast <= last
  } yield (part, new Cursor(Iterator.single(store.get(slice.start, run.first + i))))

  /** Returns the slice at `start`, and creates it if it does not exist. */
  def open(start: Long): Slice = live.computeIfAbsent(start, new Slice(_))

  def block(start: Long, level: Int): Option[Slice] = blocks.get((start, level))

  /** The highest level of a block since the directory was read, 0 if there was no block. */
  def highestLevel: Int = highest

  /** Returns a block, and creates it if it does not exist. */
  def openBlock(start: Long, level: Int): Slice = {
    highest = math.max(highest, level)
    blocks.getOrElseUpdate((start, level), new Slice(start, level))
  }

  /** Removes the blocks that start before `start`, with their segments. */
  def removeBlocksBefore(start: Long): Unit =
    blocks.rangeUntil((start, 0)).toSeq.foreach { case (at, block) =>
      block.runs.foreach(removeSegments(block, _))
      blocks.remove(at)
    }

  /** Adds a segment to a slice or block of grid windows, as a run of its own. */
  def append(slice: Slice, segment: Array[Byte]): Unit = {
    val sequence = slice.nextSequence
    store.put(slice.start, sequence, segment)
    slice.runs += new Run(sequence, 1, segment.length.toLong)
  }

  /** Returns a writer for a new run of a slice or block. Close the writer before opening another
    * one for the same slice.
    */
  def newRun(slice: Slice): RunWriter = new RunWriter(store, slice, slice.nextSequence)

  /** Removes a slice with its segments. */
  def remove(slice: Slice): Unit = {
    slice.runs.foreach(removeSegments(slice, _))
    live.remove(slice.start)
  }

  /** Removes runs with their segments, and the slice itself once it has no runs. */
  def removeRuns(slice: Slice, runs: Seq[Run]): Unit = {
    runs.foreach(removeSegments(slice, _))
    slice.runs --= runs
    if (slice.runs.isEmpty) live.remove(slice.start)
  }

  private def removeSegments(slice: Slice, run: Run): Unit =
    Iterator.range(run.first, run.first + run.segments).foreach(store.remove(slice.start, _))

  /** The newest runs of a slice that should be merged into one; empty if the slice has few runs.
    *
    * Runs of similar size are preferred. The number of times a record is rewritten therefore
    * grows with the logarithm of the slice's size. If the newest run is much smaller than the run
    * before it, the result is these two runs.
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

  /** Merges some runs of a slice into a new one, which replaces them.
    *
    * @param slice
    *   the slice
    * @param runs
    *   the runs to merge
    * @param write
    *   copies the records of the cursors to the writer
    */
  def compact(slice: Slice, runs: Seq[Run])(write: (Seq[Cursor], RunWriter) => Unit): Unit = {
    val writer = newRun(slice)
    write(runs.map(cursor(slice, _)), writer)
    writer.close()
    removeRuns(slice, runs)
  }

  /** Writes all changes to the store. Removes the directory there if no slice is live. */
  def save(): Unit = {
    store.flush()
    if (live.isEmpty) store.removeDirectory()
    else store.saveDirectory(SliceDirectory.write(this))
  }
}

/** The serialised form of [[SliceDirectory]]. */
object SliceDirectory {
  private val Version: Byte = 3
  private final val HeaderSize = 13
  private final val SliceSize = 13
  private final val RunSize = 20
  private final val PartSize = 24

  /** Number of runs that a slice may have before some of them are merged. */
  final val MaxRuns = 8

  /** The directory's part for a segment; none if the segment holds no sessions. */
  private[state] def part(segment: Array[Byte]): Option[StoredSegment] = {
    val earliestLast = Segment.earliestLast(segment)
    val (from, to) = Segment.hashes(segment)
    if (earliestLast == Long.MaxValue) None else Some(new StoredSegment(from, to, earliestLast))
  }

  private def write(slices: SliceDirectory): Array[Byte] = {
    val held = (slices.all ++ slices.blocks.valuesIterator).toVector
    val runs = held.iterator.map(_.runs.length).sum
    val parts = held.iterator.map(_.parts.length).sum
    val size = HeaderSize + SliceSize * held.length + RunSize * runs + PartSize * parts
    val out = ByteBuffer.allocate(size)
    out.put(Version).putLong(slices.firedUpTo)
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
    (0 until in.getInt()).foreach { _ =>
      val start = in.getLong()
      val level = in.get().toInt
      val slice = if (level == 0) slices.open(start) else slices.openBlock(start, level)
      slice.runs ++= Vector.fill(in.getInt())(readRun(in))
    }
  }

  private def readRun(in: ByteBuffer): Run = {
    val (first, segments, bytes) = (in.getInt(), in.getInt(), in.getLong())
    val parts =
      Vector.fill(in.getInt())(new StoredSegment(in.getLong(), in.getLong(), in.getLong()))
    new Run(first, segments, bytes, parts)
  }
}
