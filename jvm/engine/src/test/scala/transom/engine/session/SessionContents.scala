package transom.engine.session

import scala.collection.mutable

import transom.engine.{LogTest, Model}
import transom.engine.conformance.driver.{Fired, Row}
import transom.engine.window.{Sessions, TimeWindow}

/** A model of sessions. It adds the on-time rows of a batch before the late rows. */
final class SessionContents(gap: Long, inclusive: Boolean) extends Model {
  private val open = mutable.LinkedHashMap.empty[(String, TimeWindow), Vector[Row]]

  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    val (late, onTime) = rows.partition(own(_).end <= watermark)
    onTime.foreach(join)
    late.sortBy(-_.time.get).filter { row =>
      val alone = touched(row).isEmpty
      if (!alone) join(row)
      alone
    }
  }

  private def own(row: Row): TimeWindow = Sessions.windowOf(row.time.get, gap)

  private def touched(row: Row): Seq[(String, TimeWindow)] = open.keys.filter {
    case (key, session) =>
      key == row.key.string && Sessions.intersects(session, own(row), inclusive)
  }.toVector

  private def join(row: Row): Unit = {
    val sessions = touched(row)
    val rows = sessions.flatMap(open.remove(_).get).toVector :+ row
    open((row.key.string, sessions.map(_._2).foldLeft(own(row))(_ union _))) = rows
  }

  override def fire(watermark: Long): Seq[Fired] =
    open.keys.filter(_._2.end <= watermark).toVector.map { case (key, session) =>
      val rows = open.remove((key, session)).get.sortBy(_.arrival)
      Fired(LogTest.json(key), session, rows.map(_.value))
    }

  override def nextTimer: Long = open.keys.map(_._2.end).minOption.getOrElse(Long.MaxValue)
}
