package transom.engine.log

import java.nio.ByteBuffer

import scala.collection.AbstractIterator

/** The bounds of a session's record, in front of its accumulator: the times of its first and last
  * row and the watermark by which its first row was judged. Sessions that had ended by that
  * watermark when the row was written had fired: the row began another one.
  */
final class SessionBounds {
  var first: Long = 0L
  var last: Long = 0L
  var judgedBy: Long = 0L

  def set(first: Long, last: Long, judgedBy: Long): this.type = {
    this.first = first
    this.last = last
    this.judgedBy = judgedBy
    this
  }

  def read(record: Cursor): Unit = set(record.long(0), record.long(8), record.long(16))

  def write(out: ByteBuffer, at: Int): Unit =
    out.putLong(at, first).putLong(at + 8, last).putLong(at + 16, judgedBy)
}

object SessionBounds {
  val Size = 24

  /** The last time of a session, of its record. */
  def last(record: Cursor): Long = record.long(8)
}

/** A row whose own session had ended by the watermark; it counts only if it joins one still open.
  */
final class LateRow(val hash: Long, val key: Slice, val time: Long, val accumulator: Slice)

/** The sessions of one key group. A pane is as wide as the gap, so rows of a key in one pane
  * belong to one session, and what continues it lies in the same pane or the next. When a pane's
  * sessions are due, those with a continuation move on into the next pane, the others close: a
  * session costs as many moves as it has panes with rows, nothing while it is merely open: which
  * keys are due is found in the segments that hold such records, and they alone are looked up.
  *
  * @param gap
  *   quiet time that ends a session, microseconds
  * @param inclusive
  *   whether rows exactly `gap` apart share a session (flink.md 6.1)
  */
final class SessionLog[T](gap: Long, inclusive: Boolean, panes: Panes, folding: Fold[T]) {

  def append(start: Long, segment: Array[Byte], judgedBy: Long): Unit = {
    panes.firedUpTo = math.max(panes.firedUpTo, judgedBy)
    val pane = panes.open(start)
    panes.append(pane, segment)
    compact(pane)
  }

  /** Merges runs of a pane that has got too many. */
  private def compact(pane: Pane): Unit = {
    val runs = panes.crowded(pane)
    // What older runs hold may keep a session open that seems closed by the newer ones alone.
    val isWhole = runs.length == pane.runs.length
    if (runs.nonEmpty) panes.compact(pane, runs) { (cursors, writer) =>
      val keys = new FoldedSessions(cursors, gap, Some(folding), isWhole)
      while (keys.next())
        if (!isWhole || isOpen(keys.bounds))
          writer.append(keys.hash, keys.key, keys.bounds, folding.folded)
    }
  }

  /** Lets late rows join the sessions that are still open (flink.md 6.5): the newest first, since
    * each may move a session's start back to where an older one reaches. Answers those that
    * joined none.
    */
  def join(late: Seq[LateRow], judgedBy: Long): Seq[LateRow] = {
    panes.firedUpTo = math.max(panes.firedUpTo, judgedBy)
    val open = firstOpenSessions(late)
    val joined = late.sortBy(-_.time).filter { row =>
      open.get(row.key).exists { session =>
        val touches = reaches(row.time, session.first)
        if (touches) session.first = math.min(session.first, row.time)
        touches
      }
    }
    joined.groupBy(row => open(row.key).pane).foreach { case (pane, rows) =>
      val writer = panes.newRun(panes.open(pane))
      val bounds = new SessionBounds
      rows.sorted(SessionLog.KeyOrder).foreach { row =>
        // As long as the session it joins: on its own it would count as closed.
        bounds.set(row.time, open(row.key).last, panes.firedUpTo)
        writer.append(row.hash, row.key, bounds, row.accumulator)
      }
      writer.close()
      panes.get(pane).foreach(compact)
    }
    late.filterNot(joined.toSet)
  }

  /** When the next session may be due; `Long.MaxValue` if none is open. */
  def nextDue: Long = {
    val earliest = panes.all.map(_.due).minOption.getOrElse(Long.MaxValue)
    if (earliest == Long.MaxValue) Long.MaxValue else earliest + gap
  }

  /** Closes the sessions due at `watermark`. The state follows as the results are taken. */
  def fire(watermark: Long): Iterator[T] = new AbstractIterator[T] {
    private val firedUpTo = panes.firedUpTo
    private var pane: Option[Pane] = None
    private var sessions: FoldedSessions[T] = _
    private var nextPane: FoldedSessions[T] = _
    private var moved: Option[RunWriter] = None
    private var ready = false
    open(panes.first)

    override def hasNext: Boolean = {
      while (!ready && pane.isDefined) {
        if (sessions.next()) ready = closes()
        else {
          val done = pane
          close()
          open(done.flatMap(p => panes.after(p.start)))
        }
      }
      ready
    }

    override def next(): T = {
      if (!hasNext) throw new NoSuchElementException("no further result")
      ready = false
      folding.result(sessions.key, sessions.bounds.first, sessions.bounds.last + gap)
    }

    private def open(from: Option[Pane]): Unit = {
      pane = from
      while (pane.exists(!isDue(_))) pane = pane.flatMap(p => panes.after(p.start))
      pane match {
        case None => panes.firedUpTo = math.max(panes.firedUpTo, watermark)
        case Some(p) =>
          val later = panes.get(p.start + gap)
          val only = if (isWhollyDue(p)) None else Some(dueHashes(p))
          def cursors(pane: Pane) = only.fold(panes.cursors(pane))(panes.cursors(pane, _))
          sessions = new FoldedSessions(cursors(p), gap, Some(folding), only = only)
          nextPane = new FoldedSessions(later.toSeq.flatMap(cursors), gap, None, only = only)
          nextPane.next()
      }
    }

    private def isDue(pane: Pane): Boolean =
      pane.due != Long.MaxValue && pane.due + gap <= watermark

    /** Whether no session can still wait. */
    private def isWhollyDue(pane: Pane): Boolean = pane.start + gap - 1 <= watermark - gap

    /** Of the keys whose sessions may be due. What these records leave open is due later. */
    private def dueHashes(pane: Pane): Array[Long] = {
      val found = Array.newBuilder[Long]
      panes.due(pane, watermark - gap).foreach { case (part, records) =>
        part.due = Long.MaxValue
        while (records.advance()) {
          val last = SessionBounds.last(records)
          if (last + gap > watermark) part.due = math.min(part.due, last)
          else if (last + gap > firedUpTo) found += records.hash
        }
      }
      found.result().sorted.distinct
    }

    /** Whether the session at hand closes now, rather than having done so, waiting or moving on.
      */
    private def closes(): Boolean = {
      val bounds = sessions.bounds
      val end = bounds.last + gap
      if (end <= firedUpTo || end > watermark) false
      else if (nextPane
          .seek(sessions.hash, sessions.key) && continues(bounds, nextPane.bounds)) {
        bounds.last = nextPane.bounds.last
        moveOn()
        false
      } else true
    }

    private def continues(session: SessionBounds, later: SessionBounds): Boolean =
      later.last + gap > firedUpTo && reaches(session.last, later.first)

    private def moveOn(): Unit = {
      if (moved.isEmpty) moved = pane.flatMap(p => panes.get(p.start + gap)).map(panes.newRun)
      moved.foreach(_.append(sessions.hash, sessions.key, sessions.bounds, folding.folded))
    }

    private def close(): Unit = pane.foreach { p =>
      if (isWhollyDue(p) || p.due == Long.MaxValue) panes.remove(p)
      moved.foreach(_.close())
      // One that is due too is read at once.
      if (moved.isDefined) panes.get(p.start + gap).filterNot(isDue).foreach(compact)
      moved = None
    }
  }

  private def reaches(from: Long, to: Long): Boolean =
    if (inclusive) to <= from + gap else to < from + gap

  private def isOpen(bounds: SessionBounds): Boolean = bounds.last + gap > panes.firedUpTo

  private final class OpenSession(val pane: Long, var first: Long, val last: Long)

  /** The earliest open session of each late row's key, if it began by the watermark. */
  private def firstOpenSessions(late: Seq[LateRow]): collection.Map[Slice, OpenSession] = {
    val keys = late.sorted(SessionLog.KeyOrder)
    val found = collection.mutable.TreeMap.empty[Slice, OpenSession](SessionLog.SliceOrder)
    // A late row ends by the watermark, so a session it touches began by then, less than a pane ago.
    val hashes = late.map(_.hash).distinct.sorted.toArray
    panes.between(panes.firedUpTo - 2 * gap, panes.firedUpTo + 1).foreach { pane =>
      val sessions =
        new FoldedSessions(panes.cursors(pane, hashes), gap, None, only = Some(hashes))
      sessions.next()
      keys.foreach { row =>
        if (sessions.seek(row.hash, row.key) && isOpen(sessions.bounds)) {
          val known = found.get(row.key)
          if (!known.exists(_.first <= sessions.bounds.first))
            found(row.key) =
              new OpenSession(pane.start, sessions.bounds.first, sessions.bounds.last)
        }
      }
    }
    found
  }
}

object SessionLog {

  /** The pane that holds an instant. */
  def paneOf(time: Long, gap: Long): Long = time - Math.floorMod(time, gap)

  private val SliceOrder: Ordering[Slice] = (a, b) => a.compareTo(b)
  private val KeyOrder: Ordering[LateRow] = (a, b) => {
    val order = java.lang.Long.compare(a.hash, b.hash)
    if (order != 0) order else a.key.compareTo(b.key)
  }
}
