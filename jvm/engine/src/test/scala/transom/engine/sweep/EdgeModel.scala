package transom.engine.sweep

import scala.collection.mutable

import transom.engine.window.{GridWindow, RowContext, TimeWindow, Window}

/** A row that starts or ends a lifetime.
  *
  * @param number
  *   position in the stream, from 0
  * @param start
  *   start of the lifetime; with the key and the id, it tells which lifetime the row is about
  * @param end
  *   `RowContext.NoEnd` if the row starts a lifetime
  * @param met
  *   the watermark that the row met
  */
final case class Edge(number: Long, key: Int, id: Int, start: Long, end: Long, met: Long) {
  def isStart: Boolean = end == RowContext.NoEnd
}

/** What windows over edges hold. Matches all edges first, and then computes each window from all
  * lifetimes.
  */
final class EdgeModel(window: Window, timeout: Option[Long], val edges: Seq[Edge]) {
  import EdgeModel._
  import SweepModel.windowsOf

  private val bad = mutable.Set.empty[Long]
  private val lateRows = mutable.Set.empty[Long]
  private val partlyLateRows = mutable.Set.empty[Long]
  private val ending = mutable.Set.empty[Long]
  private val lives = mutable.ArrayBuffer.empty[Life]
  private val lastMet = edges.last.met

  edges.foreach { edge =>
    val open = lives.find { life =>
      (life.key, life.id, life.start) == ((edge.key, edge.id, edge.start)) && life.end.isEmpty &&
      life.until > edge.met
    }
    (edge.isStart, open) match {
      case (true, None) => start(edge)
      case (false, Some(life)) if edge.end <= life.until => end(edge, life)
      case _ => bad += edge.number
    }
  }

  /** The numbers of the rows that match no other row. */
  def deadLetters: Set[Long] = bad.toSet
  def late: Set[Long] = lateRows.toSet
  def partlyLate: Set[Long] = partlyLateRows.toSet

  /** The numbers of the rows that have ended another row. */
  def ends: Set[Long] = ending.toSet

  private def start(edge: Edge): Unit = {
    val until = timeout.fold(RowContext.NoEnd)(edge.start + _)
    val own = window match {
      // The first windows of a row without end are enough.
      case grid: GridWindow =>
        windowsOf(grid, edge.start, math.min(until, edge.start + SweepModel.Longest))
      case _ => Seq(TimeWindow(edge.start, until))
    }
    val unfired = until == RowContext.NoEnd || own.exists(_.end > edge.met)
    if (own.nonEmpty && !unfired) lateRows += edge.number
    else {
      val isBehind = window match {
        case _: GridWindow => own.headOption.exists(_.end <= edge.met)
        case _ => edge.start < edge.met
      }
      if (isBehind) partlyLateRows += edge.number
      lives += new Life(edge, until)
    }
  }

  private def end(edge: Edge, life: Life): Unit = {
    ending += edge.number
    life.end = Some(edge)
    val overrun = window match {
      case grid: GridWindow =>
        windowsOf(grid, life.from, edge.met)
          .exists(own => own.end <= edge.met && own.start >= edge.end)
      case _ => math.max(edge.end, life.from) < edge.met
    }
    if (overrun) partlyLateRows += edge.number
  }

  /** The number of rows that wait for their end after the first `count` edges, at a watermark. */
  def open(count: Int, watermark: Long): Int = lives.count { life =>
    life.number < count && life.end.forall(_.number >= count) && life.until > watermark
  }

  /** All results after the end of the input, in order of time for each key. */
  def results: Map[Int, Seq[Content]] = lives
    .groupBy(_.key)
    .map { case (key, lives) =>
      key -> (window match {
        case grid: GridWindow => onGrid(key, lives.toSeq, grid)
        case _ => snapshots(key, lives.toSeq)
      }).filter(_.rows.nonEmpty)
    }
    .filter(_._2.nonEmpty)
    .toMap

  private def snapshots(key: Int, lives: Seq[Life]): Seq[Content] = {
    def endOf(life: Life) = life.end.fold(life.until)(edge => math.max(edge.end, edge.met))
    val stops =
      lives
        .flatMap(life => Seq(life.from, endOf(life)))
        .filter(_ != RowContext.NoEnd)
        .distinct
        .sorted
    stops.zip(stops.drop(1)).map { case (from, until) =>
      val held = lives.filter(life => life.from <= from && from < endOf(life))
      Content(key, TimeWindow(from, until), held.map(_.number).toSet)
    }
  }

  private def onGrid(key: Int, lives: Seq[Life], grid: GridWindow): Seq[Content] = {
    def endOf(life: Life) = life.end.fold(life.until)(_.end)
    val last =
      lives.map(life => if (endOf(life) == RowContext.NoEnd) life.from + 1 else endOf(life)).max
    windowsOf(grid, lives.map(_.from).min, math.max(last, lastMet))
      .filter(own => own.start < last || own.end <= lastMet)
      .map { own =>
        val held = lives.filter { life =>
          val hadFired = life.end.exists(edge => own.end <= edge.met)
          life.from < own.end && (if (hadFired) life.until else endOf(life)) > own.start
        }
        Content(key, own, held.map(_.number).toSet)
      }
  }
}

private object EdgeModel {

  /** A lifetime that has started.
    *
    * @param until
    *   when the lifetime ends at the latest
    */
  final class Life(edge: Edge, val until: Long) {
    def number: Long = edge.number
    def key: Int = edge.key
    def id: Int = edge.id
    def start: Long = edge.start

    /** From where on the lifetime counts. */
    val from: Long = math.max(edge.start, edge.met)
    var end: Option[Edge] = None
  }
}
