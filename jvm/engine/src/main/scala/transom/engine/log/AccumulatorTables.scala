package transom.engine.log

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.Grid

/** The tables of a task, map side. */
abstract class AccumulatorTables {
  final val usage = new MemoryUsage

  /** Where the accumulator of a key lies to which a row goes.
    *
    * @param slice
    *   of the row
    * @param time
    *   of the row
    */
  def locate(key: ByteRange, slice: Long, time: Long): Int

  /** What `locate` has answered points into this array. */
  def array: Array[Byte]

  def isEmpty: Boolean

  /** All records as segments with their slice and key group, which are cut as they are asked for.
    * What is located next lies in other tables.
    *
    * @param encode
    *   turns an accumulator of a table into that of a segment
    */
  def drain(keyGroups: Int)(encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])]
}

/** A table a slice.
  *
  * @param initial
  *   an accumulator to which no row has come
  */
final class SliceTables(initial: Array[Byte]) extends AccumulatorTables {
  private val slices = mutable.LongMap.empty[SliceTable]
  private var lastSlice = Grid.NoSlice
  private var table: SliceTable = _

  override def locate(key: ByteRange, slice: Long, time: Long): Int = {
    if (slice != lastSlice) {
      lastSlice = slice
      table = slices.getOrElseUpdate(slice, new SliceTable(usage))
    }
    table.locate(key, initial)
  }

  override def array: Array[Byte] = table.array
  override def isEmpty: Boolean = slices.isEmpty

  override def drain(keyGroups: Int)(
      encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])] = {
    val full = slices.toSeq.sortBy(_._1)
    slices.clear()
    lastSlice = Grid.NoSlice
    usage.bytes = 0L
    for {
      (slice, table) <- full.iterator
      (group, segment) <- table.segments(keyGroups)(encode)
    } yield (slice, group, segment)
  }
}

/** Tables of sessions, one after the other: a table takes rows until it has as many keys as the
  * processor finds fast. Where keys are few one table takes all, and what leaves are whole
  * sessions; where they are many a table holds some time, in which most have a row.
  */
final class SessionTables(gap: Long, inclusive: Boolean, initial: Array[Byte])
    extends AccumulatorTables {
  private val full = ArrayBuffer.empty[SessionTable]
  private var table = opened()

  private def opened(): SessionTable = new SessionTable(gap, inclusive, initial, usage)

  override def locate(key: ByteRange, slice: Long, time: Long): Int = {
    if (table.keys >= SessionTables.MaxKeys) {
      full += table
      table = opened()
    }
    table.locate(key, time)
  }

  override def array: Array[Byte] = table.array
  override def isEmpty: Boolean = full.isEmpty && table.keys == 0

  // Sessions find their slices behind the exchange.
  override def drain(keyGroups: Int)(
      encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])] = {
    val tables = full.toSeq :+ table
    full.clear()
    usage.bytes = 0L
    table = opened()
    for {
      table <- tables.iterator
      (group, segment) <- table.segments(keyGroups)(encode)
    } yield (SessionTables.UnassignedSlice, group, segment)
  }
}

private[log] object SessionTables {

  /** Their records take some 2 MB. */
  final val MaxKeys = 1 << 15
  private final val UnassignedSlice = 0L
}
