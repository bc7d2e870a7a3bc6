package transom.engine.keyed

import transom.engine.window.{Closed, LateStart, MaxCheck, SessionWindow, TimeWindow}

/** Models of sessions with a maximum duration. They know no parts and no timers. */
private[keyed] object MaxDurationModel {

  /** A row of a key.
    *
    * @param gap
    *   the gap of the row
    * @param met
    *   the watermark that the row met
    */
  final case class Came(key: String, time: Long, gap: Long, number: Long, met: Long)

  /** A session: its key, bounds, and the numbers of its rows. */
  type Closing = (String, TimeWindow, Seq[Long])

  def sorted(closings: Seq[Closing]): Seq[Closing] =
    closings.sortBy { case (key, window, rows) => (key, window.start, window.end, rows.min) }

  /** The sessions of rows that are all there before the first session is closed: time passes from
    * row to row, and the checks between two rows look at the session that is open.
    */
  def atOnce(window: SessionWindow, rows: Seq[Came]): Seq[Closing] =
    sorted(rows.groupBy(_.key).toSeq.flatMap { case (key, own) =>
      new Walk(window).sessions(own).map { case (bounds, numbers) => (key, bounds, numbers) }
    })

  private final class Walk(window: SessionWindow) {
    private val longest = window.maxDurationUs.get
    private var closed = Seq.empty[(TimeWindow, Seq[Long])]
    private var start = 0L
    private var end = Long.MinValue
    private var numbers = Seq.empty[Long]

    def sessions(rows: Seq[Came]): Seq[(TimeWindow, Seq[Long])] = {
      rows.sortBy(_.time).foreach { row =>
        checksBefore(row.time)
        if (!goesOnAt(row.time)) {
          close(end)
          start = row.time
        }
        end = math.max(end, row.time + row.gap)
        numbers :+= row.number
      }
      if (numbers.nonEmpty) checksBefore(end + 2 * longest)
      close(end)
      closed
    }

    private def goesOnAt(time: Long): Boolean =
      if (window.inclusive) time <= end else time < end

    private def checksBefore(time: Long): Unit = if (end != Long.MinValue) {
      var check = Math.floorDiv(start, longest) * longest
      def isBefore = if (window.closed == Closed.Right) check < time else check <= time
      while (isBefore && goesOnAt(check)) {
        if (isTooOld(check)) {
          close(check)
          start = check
        }
        check += longest
      }
    }

    private def isTooOld(check: Long): Boolean = window.maxCheck match {
      case MaxCheck.AtLeast => check - start >= longest
      case MaxCheck.Above => check - start > longest
    }

    private def close(end: Long): Unit = {
      if (numbers.nonEmpty)
        closed :+= ((TimeWindow(start, math.min(this.end, end)), numbers.sorted))
      numbers = Nil
    }
  }

  /** An open row, or a session that a check has left without rows. */
  private final case class Open(key: String, start: Long, end: Long, number: Option[Long])

  /** A session of open rows.
    *
    * @param end
    *   the end that the session would have if no check closed it
    */
  private final case class Made(bounds: TimeWindow, end: Long, members: Seq[Open])

  /** Sessions of rows that come one by one, late rows too. After each row and each watermark the
    * open sessions are computed again from the rows that no session has taken yet.
    */
  final class Stream(window: SessionWindow) {
    private val longest = window.maxDurationUs.get

    private var open = Seq.empty[Open]
    private var over = Seq.empty[Closing]

    /** All closed sessions. */
    def closed: Seq[Closing] = sorted(over)

    /** Adds a row. Returns whether the row is late. */
    def isLate(row: Came): Boolean = {
      advance(row.met)
      val own = Open(row.key, row.time, row.time + row.gap, Some(row.number))
      val session = sessions(open :+ own, row.key).find(_.members.contains(own)).get
      val isRejected = window.lateStart == LateStart.Reject && row.time < row.met &&
        !open.exists(touches(_, own))
      val isLate = isRejected || isOver(session.bounds.end, row.met)
      if (!isLate) open :+= own
      isLate
    }

    def advance(watermark: Long): Unit = open.map(_.key).distinct.foreach { key =>
      var due = sessions(open, key).find(session => isOver(session.bounds.end, watermark))
      while (due.isDefined) {
        val Made(bounds, end, members) = due.get
        open = open.diff(members)
        val numbers = members.flatMap(_.number)
        if (numbers.nonEmpty) over :+= ((key, bounds, numbers.sorted))
        if (bounds.end < end) open :+= Open(key, bounds.end, end, None)
        due = sessions(open, key).find(session => isOver(session.bounds.end, watermark))
      }
    }

    private def isOver(end: Long, watermark: Long): Boolean =
      if (window.closed == Closed.Right) end < watermark else end <= watermark

    private def touches(a: Open, b: Open): Boolean =
      a.key == b.key && reaches(a.end, b.start) && reaches(b.end, a.start)

    private def reaches(end: Long, start: Long): Boolean =
      if (window.inclusive) start <= end else start < end

    /** The sessions of a key by its open rows, in order of time. */
    private def sessions(open: Seq[Open], key: String): Seq[Made] =
      chains(open.filter(_.key == key).sortBy(one => (one.start, one.number.isDefined)))
        .flatMap(cut)

    private def chains(open: Seq[Open]): Seq[Seq[Open]] =
      open.foldLeft(Vector.empty[Vector[Open]]) { (chains, next) =>
        if (chains.nonEmpty && reaches(chains.last.map(_.end).max, next.start))
          chains.init :+ (chains.last :+ next)
        else chains :+ Vector(next)
      }

    private def cut(chain: Seq[Open]): Seq[Made] = {
      val start = chain.head.start
      val check = Iterator
        .iterate(Math.floorDiv(start, longest) * longest)(_ + longest)
        .find(check =>
          if (window.maxCheck == MaxCheck.AtLeast) check - start >= longest
          else check - start > longest)
        .get
      val (before, after) = chain.tail.partition { one =>
        if (window.closed == Closed.Right) one.start <= check else one.start < check
      }
      val members = chain.head +: before
      val end = members.map(_.end).max
      val first = Made(TimeWindow(start, math.min(end, check)), end, members)
      // What follows the check starts there.
      first +: (if (after.isEmpty) Nil
                else cut(Open(chain.head.key, check, end, None) +: after))
    }
  }
}
