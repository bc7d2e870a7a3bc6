package transom.engine.sweep

import java.util.{Comparator, PriorityQueue}

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

/** The live rows of a key that wait for the row with their end.
  *
  * A row has a slot. Each block of slots has an accumulator, and a binary tree of accumulators is
  * above the blocks. A row that leaves changes one block and one path of the tree. So a result
  * costs O(log n), whichever row leaves. No aggregate needs an inverse.
  *
  * New rows go to the last block, which is not in the tree until the next block begins. When more
  * slots are empty than used, the rows move together. So the slots, and the order in which
  * accumulators are merged, depend only on the order of the calls.
  *
  * Slots and accumulators are stored in [[Segments]], so a row that enters or leaves writes a few
  * entries of the state. All are read when the key is read.
  *
  * {{{
  * open    slots, number of levels, levels
  * slots   number of slots, slots: layout of the rows, then for each slot whether it has a row,
  *         and the row
  * }}}
  *
  * Not thread-safe.
  */
private[sweep] final class OpenRows(store: SweepStore) {
  import OpenRows._

  /** The rows by slot; null where a row has left. */
  private[sweep] val slots = ArrayBuffer.empty[OpenRow]

  /** The encoded rows by slot, so that the rows of a block are read together. A slot of a large
    * row is not known.
    */
  private[sweep] val encoded = new NodeAccumulators(NoList)

  /** The accumulators: those of the blocks, then each level above. The top level has at most two.
    * If an accumulator is not known, those above it are not known either.
    */
  private[sweep] val levels = ArrayBuffer(levelAt(0))

  private def levelAt(height: Int): NodeAccumulators = new NodeAccumulators(SlotList + 1 + height)

  /** The accumulator of the last block, in a level of its own. */
  private[sweep] val tail = new NodeAccumulators(NoList)
  tail.grow()
  private val byEnd = new PriorityQueue[OpenRow](Comparator.comparingLong[OpenRow](_.end))
  private val segments = new Segments(SlotList)
  private var count = 0

  def isEmpty: Boolean = count == 0

  def size: Int = count

  private var rowBytes = 0L

  /** Estimated number of bytes in memory. */
  def heldBytes: Long = OpenRow.Weight * slots.length + rowBytes

  /** The first instant at which a row stops waiting; `RowContext.NoEnd` if there is none. */
  def firstEnd: Long = {
    while (!byEnd.isEmpty && byEnd.peek.slot == OpenRow.NoSlot) byEnd.poll()
    if (byEnd.isEmpty) RowContext.NoEnd else byEnd.peek.end
  }

  def add(row: OpenRow): Unit = {
    if (slots.length % BlockSize == 0 && slots.nonEmpty) invalidate(lastBlock)
    append(row)
    tail.forget(0)
  }

  private def append(row: OpenRow): Unit = {
    row.slot = slots.length
    segments.note(row.slot)
    slots += row
    encoded.grow()
    if (row.length <= NodeAccumulators.MaxWidth)
      encoded.set(row.slot, row.bytes, row.offset, row.length)
    count += 1
    rowBytes += row.length
    if (row.end != RowContext.NoEnd) byEnd.add(row)
  }

  def remove(row: OpenRow): Unit = {
    free(row)
    compact()
  }

  /** Removes the rows that have stopped waiting at `position`. */
  def removeEnded(position: Long)(noteLeft: OpenRow => Unit): Unit = if (firstEnd <= position) {
    // The heap has no order among equal ends, so the slots must not depend on this order.
    while (firstEnd <= position && !byEnd.isEmpty) {
      val row = byEnd.poll()
      noteLeft(row)
      free(row)
    }
    compact()
  }

  def iterator: Iterator[OpenRow] = slots.iterator.filter(_ != null)

  /** Removes all rows and their entries. */
  def clear(): Unit = {
    slots.clear()
    segments.removeEntries(store)
    levels.foreach(_.removeEntries(store))
    encoded.truncate(0)
    byEnd.clear()
    clearLevels()
    count = 0
    rowBytes = 0L
  }

  private def free(row: OpenRow): Unit = {
    slots(row.slot) = null
    segments.note(row.slot)
    encoded.empty(row.slot)
    count -= 1
    rowBytes -= row.length
    val block = row.slot / BlockSize
    if (block == lastBlock) tail.forget(0) else invalidate(block)
    row.slot = OpenRow.NoSlot
  }

  /** Moves the rows together if more slots are empty than used. */
  private def compact(): Unit = if (slots.length - count > math.max(count, BlockSize)) {
    var slot = 0
    var from = 0
    while (slot < count) {
      val row = slots(from)
      if (row != null) {
        slots(slot) = row
        segments.note(slot)
        encoded.move(from, slot)
        row.slot = slot
        slot += 1
      }
      from += 1
    }
    slots.takeInPlace(count)
    encoded.truncate(count)
    clearLevels()
    var block = 0
    while (block < lastBlock) {
      invalidate(block)
      block += 1
    }
  }

  private def clearLevels(): Unit = {
    levels.drop(1).foreach(_.removeEntries(store))
    levels.takeInPlace(1)
    levels(0).truncate(0)
    tail.forget(0)
  }

  /** The block of the last slot. */
  private[sweep] def lastBlock: Int = (slots.length - 1) / BlockSize

  /** Marks the accumulators over a block as unknown. Adds the block to the tree if it is new. */
  private def invalidate(block: Int): Unit = {
    var node = block
    var level = 0
    while (level < levels.length) {
      val nodes = levels(level)
      val isNew = node == nodes.length
      if (isNew) nodes.grow()
      if (isNew && level == levels.length - 1 && nodes.length > 2) {
        val above = levelAt(levels.length)
        above.grow()
        above.grow()
        levels += above
      }
      if (isNew || nodes.isKnown(node)) {
        nodes.forget(node)
        node /= 2
        level += 1
      } else level = levels.length
    }
  }

  /** Writes what has changed to its entries, and the rest. */
  def write(out: StateWriter): Unit = {
    segments.write(slots.length, store, out)(writeSlots)
    out.unsigned(levels.length)
    levels.foreach(_.write(store, out))
  }

  private def writeSlots(from: Int, until: Int, out: StateWriter): Unit = {
    out.signed(store.codec.layout)
    var start = 0L
    var slot = from
    while (slot < until) {
      val row = slots(slot)
      out.byte(if (row == null) 0 else 1)
      if (row != null) {
        LiveRows.writeRow(row, start, out)
        start = row.start
      }
      slot += 1
    }
  }

  /** Adds the rows that `write` has written to no rows. */
  def read(in: StateReader): Unit = {
    segments.read(store, in)(readSlots)
    levels.clear()
    var left = in.unsigned()
    while (left > 0) {
      val level = levelAt(levels.length)
      level.read(store, in)
      levels += level
      left -= 1
    }
  }

  private def readSlots(count: Int, in: StateReader): Unit = {
    val written = in.signed().toInt
    var left = count
    var start = 0L
    while (left > 0) {
      if (in.byte() == 0) {
        slots += null
        encoded.grow()
        encoded.empty(slots.length - 1)
      } else {
        val open = LiveRows.readRow(in, start).from(written, store.codec).opened
        start = open.start
        append(open)
      }
      left -= 1
    }
  }
}

private[sweep] object OpenRows {

  /** Number of slots that share an accumulator. Their rows are aggregated again when one of them
    * changes.
    */
  final val BlockSize = 8

  /** The list of the entries of slots. The lists of the levels follow. */
  private final val SlotList = 2L

  // Of levels that are not stored.
  private final val NoList = -1L
}
