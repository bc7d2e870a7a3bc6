package transom.engine.session

import scala.collection.AbstractIterator
import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.runtime.{LateRow, SegmentLog}
import transom.engine.state._
import transom.engine.window.{Sessions, SessionSlices}

/** Stores and closes the session windows of one key group.
  *
  * A record is a whole session or a part of one: adjacent records are merged into one before they
  * are written. Slices are as wide as the gap. A record lies in the slice of its first row, or in
  * a slice that the watermark had reached when the record was written. Therefore, all records
  * that can touch a session closing at a watermark lie in slices that start by that watermark.
  *
  * A session that closes leaves the state. Records that end by the watermark move to the slice of
  * the watermark if their session continues. The segments of open sessions that cannot close are
  * not read, and only their entries in the directory cost. The directory names the segments that
  * may hold closing sessions, and only the keys of these sessions are looked up. The log ignores
  * a record whose end the watermark has passed: its session has closed, or the record has moved.
  *
  * Not thread-safe. Exhaust the iterator that `fire` returns before calling another method.
  *
  * @param gap
  *   inactivity that ends a session, in microseconds
  * @param inclusive
  *   whether rows exactly `gap` apart share a session (flink.md 6.1)
  * @param slices
  *   the directory of the key group
  * @param merger
  *   merges accumulators and computes results
  * @param inMemory
  *   limit in bytes, both for segments that have arrived and for segments that are read in one
  *   step of firing
  */
final class SessionLog[T](
    gap: Long,
    inclusive: Boolean,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T],
    inMemory: Long)
    extends SegmentLog[T] {
  private val arrived = ArrayBuffer.empty[Array[Byte]]
  private var arrivedBytes = 0L

  /** Adds a segment. Segments stay in memory until `settle`. This method calls `settle` once the
    * segments exceed `inMemory`.
    *
    * @param slice
    *   ignored: the first row of a session determines its slice
    * @param segment
    *   the sorted session records
    * @param lateWatermark
    *   the late watermark of the batch: sessions that end by it have already closed
    */
  override def append(slice: Long, segment: Array[Byte], lateWatermark: Long): Unit = {
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    arrived += segment
    arrivedBytes += segment.length
    if (arrivedBytes > inMemory) settle()
  }

  /** Writes the segments that have arrived to their slices. */
  def settle(): Unit = if (arrived.nonEmpty) {
    val sessions =
      chains(arrived.toSeq.map(segment => new Cursor(Iterator.single(segment))), Long.MinValue)
    arrived.clear()
    arrivedBytes = 0L
    val writers = mutable.LongMap.empty[RunWriter]
    while (sessions.next()) {
      val start = Sessions.sliceOf(sessions.first, gap)
      sessions.write(Long.MaxValue) {
        writers.getOrElseUpdate(start, slices.newRun(slices.open(start)))
      }
    }
    writers.foreachValue(_.close())
    writers.keysIterator.foreach(compact)
  }

  private def chains(runs: Seq[Cursor], firedUpTo: Long, only: Option[Array[Long]] = None) =
    new Chains(runs, gap, inclusive, firedUpTo, merger, only)

  /** Merges some runs of a slice if it has too many. */
  private def compact(start: Long): Unit = slices.get(start).foreach { slice =>
    val runs = slices.crowded(slice)
    if (runs.nonEmpty) slices.compact(slice, runs) { (cursors, writer) =>
      val sessions = chains(cursors, slices.firedUpTo)
      while (sessions.next()) sessions.write(Long.MaxValue)(writer)
    }
  }

  /** Adds each late row to the open session that it touches (flink.md 6.5).
    *
    * Rows are tried from the newest to the oldest. A row may move the start of a session back, so
    * that an older row touches the session.
    *
    * @param late
    *   the late rows
    * @param lateWatermark
    *   the late watermark of the batch
    * @return
    *   the rows that touch no open session
    */
  override def join(late: Seq[LateRow], lateWatermark: Long): Seq[LateRow] = {
    settle()
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    val open = firstOpenSessions(late)
    val joined = late.sortBy(-_.time).filter { row =>
      open.get(row.key).exists { session =>
        val touches =
          Sessions.reaches(Sessions.windowOf(row.time, gap).end, session.first, inclusive)
        if (touches) session.first = math.min(session.first, row.time)
        touches
      }
    }
    if (joined.nonEmpty) {
      val slice = slices.open(Sessions.sliceOf(slices.firedUpTo, gap))
      val writer = slices.newRun(slice)
      val bounds = new SessionBounds
      joined.sorted(LateRow.KeyOrder).foreach { row =>
        // The record ends with the session that it joins. With its own end it would count as
        // closed.
        bounds.set(row.time, open(row.key).last)
        writer.append(row.hash, row.key, bounds, row.accumulator)
      }
      writer.close()
      compact(slice.start)
    }
    late.filterNot(joined.toSet)
  }

  /** Finds the earliest open session of each late row's key. */
  private def firstOpenSessions(
      late: Seq[LateRow]): collection.Map[ByteRange, SessionLog.OpenSession] = {
    val found =
      mutable.TreeMap.empty[ByteRange, SessionLog.OpenSession](SessionLog.ByteRangeOrder)
    val hashes = late.map(_.hash).distinct.sorted.toArray
    // The session of a late row ends by the watermark, so sessions that touch it start by then.
    val runs = begun(slices.firedUpTo).flatMap(slices.cursors(_, hashes))
    val sessions = chains(runs, slices.firedUpTo, Some(hashes))
    while (sessions.next())
      found.getOrElseUpdate(
        new ByteRange().set(sessions.key),
        new SessionLog.OpenSession(sessions.first, sessions.last))
    found
  }

  /** The slices that start at or before a watermark, in order. */
  private def begun(watermark: Long): Vector[Slice] =
    slices.all.takeWhile(_.start <= watermark).toVector

  override def save(): Unit = slices.save()

  /** The earliest watermark at which a session may close; `Long.MaxValue` if none is open. */
  override def nextTimer: Long = {
    settle()
    val earliest = slices.all.map(_.earliestLast).minOption.getOrElse(Long.MaxValue)
    if (earliest == Long.MaxValue) Long.MaxValue else earliest + gap
  }

  /** Closes the sessions that end by `watermark`, and returns their results. The iterator changes
    * the state as it advances, so the caller must exhaust it.
    */
  override def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
    private var step = nextStep()
    private var ready = false

    override def hasNext: Boolean = {
      while (!ready && step.isDefined) {
        ready = step.exists(_.next())
        if (!ready) {
          step.foreach(_.close())
          step = nextStep()
        }
      }
      ready
    }

    override def next(): T = {
      if (!hasNext) throw new NoSuchElementException("no further result")
      ready = false
      counted(step.get.result())
    }

    /** The next step of firing. One segment of each run is in memory while runs are merged, so a
      * long advance of the watermark is split into steps.
      */
    private def nextStep(): Option[Step] = {
      val timer = nextTimer
      if (timer != Long.MaxValue && timer <= watermark)
        Some(new Step(math.min(watermark, within(timer))))
      else {
        slices.firedUpTo = math.max(slices.firedUpTo, watermark)
        None
      }
    }
  }

  /** The watermark up to which one step can fire, at least `atLeast`. The step keeps one segment
    * per run in memory. The limit `inMemory` therefore bounds the runs in the slices that start
    * by the result.
    */
  private def within(atLeast: Long): Long = {
    var room = inMemory
    slices.all
      .find { slice =>
        room -= slice.runs.iterator.map(run => math.min(run.bytes, Segment.SessionTargetSize)).sum
        room < 0 && slice.start > atLeast
      }
      .fold(Long.MaxValue)(_.start - 1)
  }

  /** Closes the sessions that end by one watermark. At least one session may close there. */
  private final class Step(watermark: Long) {
    private val closesBy = watermark - gap
    private val read = begun(watermark)
    private val rewrites = mostlyClosing
    private val old = read.map(slice => (slice, slice.runs.toVector))
    private val sessions = {
      val only = if (rewrites) None else Some(closingHashes)
      val runs = read.flatMap(slice => only.fold(slices.cursors(slice))(slices.cursors(slice, _)))
      chains(runs, slices.firedUpTo, only)
    }
    private lazy val moved = slices.newRun(slices.open(Sessions.sliceOf(watermark, gap)))
    private var hasMoved = false

    /** Moves to the next session that closes; false if there is none. Records that must move are
      * written on the way.
      */
    def next(): Boolean = {
      var closes = false
      while (!closes && sessions.next()) {
        closes = sessions.last <= closesBy
        if (!closes) sessions.write(if (rewrites) Long.MaxValue else closesBy) {
          hasMoved = true
          moved
        }
      }
      closes
    }

    def result(): T = {
      sessions.mergeRecords()
      merger.result(sessions.key, sessions.first, sessions.last + gap)
    }

    /** Removes the runs whose sessions have all closed or moved. Called once, after `next` has
      * returned false.
      */
    def close(): Unit = {
      if (hasMoved) moved.close()
      old.foreach { case (slice, runs) =>
        val over =
          if (rewrites) runs else runs.filter(_.parts.forall(_.earliestLast == Long.MaxValue))
        slices.removeRuns(slice, over)
      }
      slices.firedUpTo = math.max(slices.firedUpTo, watermark)
      compact(Sessions.sliceOf(watermark, gap))
    }

    /** Whether at least half of the segments have closing sessions and lie in slices that end by
      * `closesBy`. Reading and rewriting all records is then cheaper than looking up the closing
      * keys.
      */
    private def mostlyClosing: Boolean = {
      val over = read.iterator.filter(_.start + gap - 1 <= closesBy)
      2 * over.flatMap(_.parts).count(_.earliestLast <= closesBy) >= read.iterator
        .flatMap(_.parts)
        .length
    }

    /** The sorted hashes of the keys whose sessions may close. Also updates the earliest last
      * time of each part that was read, so that its open sessions are found later.
      */
    private def closingHashes: Array[Long] = {
      val found = Array.newBuilder[Long]
      for (slice <- read; (part, records) <- slices.closing(slice, closesBy)) {
        part.earliestLast = Long.MaxValue
        while (records.advance()) {
          val last = SessionBounds.last(records)
          if (last > closesBy) part.earliestLast = math.min(part.earliestLast, last)
          else if (last + gap > slices.firedUpTo) found += records.hash
        }
      }
      found.result().sorted.distinct
    }
  }
}

/** Opens the session logs of key groups. */
object SessionLog {

  /** Returns the function that opens the log of a key group over its only store. */
  def over[T](
      sessions: SessionSlices,
      merger: AccumulatorMerger[T],
      limits: Limits): IndexedSeq[SegmentStore] => SegmentLog[T] = stores => {
    // A session log looks up single segments, so each one is stored by itself.
    val directory = new SliceDirectory(new BufferedStore(stores.head, limits.segments))
    new SessionLog(sessions.gap, sessions.inclusive, directory, merger, limits.sessions)
  }

  /** The bounds of an open session. Late rows that join it may move its first time back. */
  private final class OpenSession(var first: Long, val last: Long)

  private val ByteRangeOrder: Ordering[ByteRange] = (a, b) => a.compareTo(b)
}
