package transom.engine.log

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.Grid

/** The tables of a task, map side. */
abstract class Tables {
  final val taken = new Taken

  /** Where the accumulator of a key lies to which a row goes.
    *
    * @param pane
    *   of the row
    * @param time
    *   of the row
    */
  def locate(key: Slice, pane: Long, time: Long): Int

  /** What `locate` has answered points into this array. */
  def array: Array[Byte]

  def isEmpty: Boolean

  /** All records as segments with their pane and key group, which are cut as they are asked for.
    * What is located next lies in other tables.
    *
    * @param written
    *   turns an accumulator of a table into that of a segment
    */
  def drain(keyGroups: Int)(written: Slice => Slice): Iterator[(Long, Int, Array[Byte])]
}

/** A table a pane.
  *
  * @param initial
  *   an accumulator to which no row has come
  */
final class PaneTables(initial: Array[Byte]) extends Tables {
  private val panes = mutable.LongMap.empty[PaneTable]
  private var lastPane = Grid.NoPane
  private var table: PaneTable = _

  override def locate(key: Slice, pane: Long, time: Long): Int = {
    if (pane != lastPane) {
      lastPane = pane
      table = panes.getOrElseUpdate(pane, new PaneTable(taken))
    }
    table.locate(key, initial)
  }

  override def array: Array[Byte] = table.array
  override def isEmpty: Boolean = panes.isEmpty

  override def drain(keyGroups: Int)(
      written: Slice => Slice): Iterator[(Long, Int, Array[Byte])] = {
    val full = panes.toSeq.sortBy(_._1)
    panes.clear()
    lastPane = Grid.NoPane
    taken.bytes = 0L
    for {
      (pane, table) <- full.iterator
      (group, segment) <- table.segments(keyGroups)(written)
    } yield (pane, group, segment)
  }
}

/** Tables of sessions, one after the other: a table takes rows until it has as many keys as the
  * processor finds fast. Where keys are few one table takes all, and what leaves are whole
  * sessions; where they are many a table holds some time, in which most have a row.
  */
final class SessionTables(gap: Long, inclusive: Boolean, initial: Array[Byte]) extends Tables {
  private val full = ArrayBuffer.empty[SessionTable]
  private var table = opened()

  private def opened(): SessionTable = new SessionTable(gap, inclusive, initial, taken)

  override def locate(key: Slice, pane: Long, time: Long): Int = {
    if (table.keys >= SessionTables.MaxKeys) {
      full += table
      table = opened()
    }
    table.locate(key, time)
  }

  override def array: Array[Byte] = table.array
  override def isEmpty: Boolean = full.isEmpty && table.keys == 0

  // Sessions find their panes behind the exchange.
  override def drain(keyGroups: Int)(
      written: Slice => Slice): Iterator[(Long, Int, Array[Byte])] = {
    val tables = full.toSeq :+ table
    full.clear()
    taken.bytes = 0L
    table = opened()
    for {
      table <- tables.iterator
      (group, segment) <- table.segments(keyGroups)(written)
    } yield (SessionTables.Pane, group, segment)
  }
}

private[log] object SessionTables {

  /** Their records take some 2 MB. */
  final val MaxKeys = 1 << 15
  private final val Pane = 0L
}
