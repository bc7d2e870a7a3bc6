package transom.engine.combine

import scala.collection.AbstractIterator
import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import transom.engine.state._
import transom.engine.window.Grid

/** The hash tables in which a map task aggregates rows before the exchange. Not thread-safe.
  *
  * @param usage
  *   counts the bytes of all tables
  */
abstract class AccumulatorTables(usage: MemoryUsage) {

  /** Finds or creates the accumulator for a row.
    *
    * @param key
    *   the key of the row
    * @param slice
    *   the slice of the row
    * @param time
    *   event time of the row, in microseconds
    * @return
    *   offset of the accumulator in `array`
    */
  def locate(key: ByteRange, slice: Long, time: Long): Int

  /** The array that holds the accumulator. Valid until the next `locate`. */
  def array: Array[Byte]

  /** Whether no row has been added since the last `drain`. */
  def isEmpty: Boolean

  /** Removes records, and returns them as segments, each with its slice and key group.
    *
    * The iterator builds segments lazily. Rows that are added meanwhile go to new tables.
    *
    * @param keyGroups
    *   number of key groups
    * @param takes
    *   whether the records of a slice are removed; sessions have no slices yet, and always are
    * @param encode
    *   converts an accumulator of a table to an accumulator of a segment
    */
  def drain(keyGroups: Int, takes: Long => Boolean = _ => true)(
      encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])]
}

/** Tables for grid windows: one table per slice.
  *
  * @param initial
  *   the accumulator of no rows
  */
final class SliceTables(initial: Array[Byte], usage: MemoryUsage)
    extends AccumulatorTables(usage) {
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

  override def drain(keyGroups: Int, takes: Long => Boolean)(
      encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])] = {
    val taken = slices.toSeq.filter { case (slice, _) => takes(slice) }.sortBy(_._1)
    taken.foreach { case (slice, _) => slices.remove(slice) }
    lastSlice = Grid.NoSlice
    if (isEmpty) usage.bytes = 0L
    for {
      (slice, table) <- taken.iterator
      (group, segment) <- table.segments(keyGroups)(encode)
    } yield (slice, group, segment)
  }
}

/** Tables for session windows, filled one after another.
  *
  * A table accepts rows until it has `MaxKeys` keys, so that it fits in the processor's cache. If
  * the task has few keys, one table receives all rows. If the task has many keys, a table covers
  * a short time, in which most keys have one row.
  *
  * Which rows meet in a record depends on their order. So `drain` merges the records of all
  * tables: the segments have one record for each session, whatever the order of the rows. A task
  * that Spark runs again then sends the same segments, even if a shuffle below it brings the rows
  * in another order.
  *
  * @param gap
  *   inactivity that ends a session, in microseconds
  * @param inclusive
  *   whether rows exactly `gap` apart share a session
  * @param initial
  *   the accumulator of no rows
  * @param merger
  *   merges the accumulators of a segment
  */
final class SessionTables(
    gap: Long,
    inclusive: Boolean,
    initial: Array[Byte],
    usage: MemoryUsage,
    merger: => AccumulatorMerger[_])
    extends AccumulatorTables(usage) {
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

  // Session records are assigned to slices only after the exchange, so the slice is a
  // placeholder.
  override def drain(keyGroups: Int, takes: Long => Boolean)(
      encode: ByteRange => ByteRange): Iterator[(Long, Int, Array[Byte])] = {
    val runs = (full.toSeq :+ table).map { table =>
      new Cursor(table.segments(keyGroups)(encode).map { case (_, segment) => segment })
    }
    full.clear()
    usage.bytes = 0L
    table = opened()
    merged(runs, keyGroups)
  }

  private def merged(runs: Seq[Cursor], keyGroups: Int): Iterator[(Long, Int, Array[Byte])] = {
    val into = merger
    val sessions = new Chains(runs, gap, inclusive, Long.MinValue, into)
    val bounds = new SessionBounds
    val writer = new SegmentWriter
    new AbstractIterator[(Long, Int, Array[Byte])] {
      private var isThere = sessions.next()

      override def hasNext: Boolean = isThere
      override def next(): (Long, Int, Array[Byte]) = {
        val group = groupOfSession
        while (isThere && !writer.isFull && groupOfSession == group) {
          sessions.mergeRecords()
          bounds.set(sessions.first, sessions.last)
          writer.append(sessions.hash, sessions.key, bounds, into.accumulator)
          isThere = sessions.next()
        }
        (SessionTables.UnassignedSlice, group, writer.take())
      }

      private def groupOfSession: Int = KeyGroups.groupOf(sessions.hash, keyGroups)
    }
  }
}

/** Constants of [[SessionTables]]. */
private[combine] object SessionTables {

  /** Number of keys at which a table is full. The records of that many keys occupy about 2 MB. */
  final val MaxKeys = 1 << 15
  private final val UnassignedSlice = 0L
}
