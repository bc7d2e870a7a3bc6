package transom.engine.log

import scala.collection.AbstractIterator
import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

/** A row whose own session had ended by the watermark; it counts only if it joins one still open.
  */
final class LateRow(
    val hash: Long,
    val key: ByteRange,
    val time: Long,
    val accumulator: ByteRange)

/** The sessions of one key group. What comes together is chained at once, so a record may be a
  * whole session, or a part of one, of any length. A record lies in a slice as wide as the gap:
  * that of its first row, or one that the watermark had reached when it was written. So all that
  * can touch what is due at a watermark lies in slices that begin by then.
  *
  * What is due closes, or moves on if the session goes on. A session costs nothing while it is
  * merely open: which keys are due is found in the segments that hold such records, and they
  * alone are looked up. A record whose end the watermark has passed has closed or moved on.
  *
  * @param gap
  *   quiet time that ends a session, microseconds
  * @param inclusive
  *   whether rows exactly `gap` apart share a session (flink.md 6.1)
  * @param inMemory
  *   bytes that are in memory at a time of what has come, and of what is merged as time moves
  */
final class SessionLog[T](
    gap: Long,
    inclusive: Boolean,
    slices: SliceDirectory,
    merger: AccumulatorMerger[T],
    inMemory: Long = SessionLog.InMemory) {
  private val arrived = ArrayBuffer.empty[Array[Byte]]
  private var arrivedBytes = 0L

  /** Takes a segment.
    *
    * @param lateWatermark
    *   the watermark by which late rows were told apart: what was due by then has fired
    */
  def append(segment: Array[Byte], lateWatermark: Long): Unit = {
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    arrived += segment
    arrivedBytes += segment.length
    if (arrivedBytes > inMemory) settle()
  }

  /** Lays what has come down in slices. */
  def settle(): Unit = if (arrived.nonEmpty) {
    val sessions =
      chains(arrived.toSeq.map(segment => new Cursor(Iterator.single(segment))), Long.MinValue)
    arrived.clear()
    arrivedBytes = 0L
    val writers = mutable.LongMap.empty[RunWriter]
    while (sessions.next()) {
      val start = SessionLog.sliceOf(sessions.first, gap)
      sessions.write(Long.MaxValue) {
        writers.getOrElseUpdate(start, slices.newRun(slices.open(start)))
      }
    }
    writers.foreachValue(_.close())
    writers.keysIterator.foreach(compact)
  }

  private def chains(runs: Seq[Cursor], firedUpTo: Long, only: Option[Array[Long]] = None) =
    new Chains(runs, gap, inclusive, firedUpTo, merger, only)

  /** Merges runs of a slice that has got too many. */
  private def compact(start: Long): Unit = slices.get(start).foreach { slice =>
    val runs = slices.crowded(slice)
    if (runs.nonEmpty) slices.compact(slice, runs) { (cursors, writer) =>
      val sessions = chains(cursors, slices.firedUpTo)
      while (sessions.next()) sessions.write(Long.MaxValue)(writer)
    }
  }

  /** Lets late rows join the sessions that are still open (flink.md 6.5): the newest first, since
    * each may move a session's start back to where an older one reaches. Answers those that
    * joined none.
    */
  def join(late: Seq[LateRow], lateWatermark: Long): Seq[LateRow] = {
    settle()
    slices.firedUpTo = math.max(slices.firedUpTo, lateWatermark)
    val open = firstOpenSessions(late)
    val joined = late.sortBy(-_.time).filter { row =>
      open.get(row.key).exists { session =>
        val touches =
          if (inclusive) session.first <= row.time + gap else session.first < row.time + gap
        if (touches) session.first = math.min(session.first, row.time)
        touches
      }
    }
    if (joined.nonEmpty) {
      val slice = slices.open(SessionLog.sliceOf(slices.firedUpTo, gap))
      val writer = slices.newRun(slice)
      val bounds = new SessionBounds
      joined.sorted(SessionLog.KeyOrder).foreach { row =>
        // As long as the session it joins: on its own it would count as closed.
        bounds.set(row.time, open(row.key).last)
        writer.append(row.hash, row.key, bounds, row.accumulator)
      }
      writer.close()
      compact(slice.start)
    }
    late.filterNot(joined.toSet)
  }

  /** The earliest open session of each late row's key. */
  private def firstOpenSessions(
      late: Seq[LateRow]): collection.Map[ByteRange, SessionLog.OpenSession] = {
    val found =
      mutable.TreeMap.empty[ByteRange, SessionLog.OpenSession](SessionLog.ByteRangeOrder)
    val hashes = late.map(_.hash).distinct.sorted.toArray
    // A late row ends by the watermark, so what it touches begins by then.
    val runs = begun(slices.firedUpTo).flatMap(slices.cursors(_, hashes))
    val sessions = chains(runs, slices.firedUpTo, Some(hashes))
    while (sessions.next())
      found.getOrElseUpdate(
        new ByteRange().set(sessions.key),
        new SessionLog.OpenSession(sessions.first, sessions.last))
    found
  }

  /** The slices that begin by a watermark. */
  private def begun(watermark: Long): Vector[Slice] =
    slices.all.takeWhile(_.start <= watermark).toVector

  /** When the next session may be due; `Long.MaxValue` if none is open. */
  def nextTimer: Long = {
    settle()
    val earliest = slices.all.map(_.earliestLast).minOption.getOrElse(Long.MaxValue)
    if (earliest == Long.MaxValue) Long.MaxValue else earliest + gap
  }

  /** Closes the sessions due at `watermark`. The state follows as the results are taken. */
  def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
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
      step.get.result()
    }

    /** Time may have to move in steps, since of each run that is read a segment is in memory. */
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

  /** How far time can move at once, but at least until `atLeast`: there may be no more runs in
    * the slices that begin by then than memory has room for segments.
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

  /** The firing at one watermark, at which something is due. */
  private final class Step(watermark: Long) {
    private val closesBy = watermark - gap
    private val read = begun(watermark)
    private val rewrites = mostlyOver
    private val old = read.map(slice => (slice, slice.runs.toVector))
    private val sessions = {
      val only = if (rewrites) None else Some(closingHashes)
      val runs = read.flatMap(slice => only.fold(slices.cursors(slice))(slices.cursors(slice, _)))
      chains(runs, slices.firedUpTo, only)
    }
    private lazy val moved = slices.newRun(slices.open(SessionLog.sliceOf(watermark, gap)))
    private var hasMoved = false

    /** Moves to the next session that closes; the others move on, as far as they have to. */
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

    def close(): Unit = {
      if (hasMoved) moved.close()
      old.foreach { case (slice, runs) =>
        val over =
          if (rewrites) runs else runs.filter(_.parts.forall(_.earliestLast == Long.MaxValue))
        slices.removeRuns(slice, over)
      }
      slices.firedUpTo = math.max(slices.firedUpTo, watermark)
      compact(SessionLog.sliceOf(watermark, gap))
    }

    /** Whether most segments lie in slices that are over: then it is less to read and write all
      * of them than to look up what is due.
      */
    private def mostlyOver: Boolean = {
      val over = read.iterator.filter(_.start + gap - 1 <= closesBy)
      2 * over.flatMap(_.parts).count(_.earliestLast <= closesBy) >= read.iterator
        .flatMap(_.parts)
        .length
    }

    /** Of the keys whose sessions may be due. What these records leave open is due later. */
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

object SessionLog {

  final val InMemory = 32L << 20

  /** The slice that holds an instant. */
  def sliceOf(time: Long, gap: Long): Long = time - Math.floorMod(time, gap)

  private final class OpenSession(var first: Long, val last: Long)

  private val ByteRangeOrder: Ordering[ByteRange] = (a, b) => a.compareTo(b)
  private val KeyOrder: Ordering[LateRow] = (a, b) => {
    val order = java.lang.Long.compare(a.hash, b.hash)
    if (order != 0) order else a.key.compareTo(b.key)
  }
}
