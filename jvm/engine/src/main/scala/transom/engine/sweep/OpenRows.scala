package transom.engine.sweep

import java.util.{Comparator, PriorityQueue}

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.RowCodec
import transom.engine.keyed.state.{StateReader, StateWriter, WindowAggregation}
import transom.engine.state.ByteRange
import transom.engine.window.Arrival

/** The live rows of a key that wait for the row with their end.
  *
  * A row has a slot. Each block of slots has an accumulator, and a binary tree of accumulators is
  * above the blocks. A row that leaves changes one block and one path of the tree. So a result
  * costs O(log n), whichever row leaves. No aggregate needs an inverse.
  *
  * New rows go to the last block, which is not in the tree until the next block begins. When more
  * slots are empty than used, the rows move together. So the slots, and the order in which
  * accumulators are merged, depend only on the order of the calls. Not thread-safe.
  */
private[sweep] final class OpenRows {
  import OpenRows._

  /** The rows by slot; null where a row has left. */
  private[sweep] val slots = ArrayBuffer.empty[OpenRow]

  /** The accumulators: those of the blocks, then each level above. The top level has at most two.
    * If an accumulator is not known, those above it are not known either.
    */
  private[sweep] val levels = ArrayBuffer(new Level)

  /** The accumulator of the last block, in a level of its own. */
  private[sweep] val tail = new Level
  tail.grow()
  private val byEnd = new PriorityQueue[OpenRow](ByEnd)
  private var count = 0

  def isEmpty: Boolean = count == 0

  def size: Int = count

  /** The first instant at which a row stops waiting; `Arrival.NoEnd` if there is none. */
  def firstEnd: Long = {
    while (!byEnd.isEmpty && byEnd.peek.slot == OpenRow.NoSlot) byEnd.poll()
    if (byEnd.isEmpty) Arrival.NoEnd else byEnd.peek.end
  }

  def add(row: OpenRow): Unit = {
    if (slots.length % BlockSize == 0 && slots.nonEmpty) invalidate(lastBlock)
    row.slot = slots.length
    slots += row
    count += 1
    if (row.end != Arrival.NoEnd) byEnd.add(row)
    tail.forget(0)
  }

  def remove(row: OpenRow): Unit = {
    free(row)
    compact()
  }

  /** Removes the rows that have stopped waiting at `position`. */
  def removeEnded(position: Long): Unit = if (firstEnd <= position) {
    // The heap has no order among equal ends, so the slots must not depend on this order.
    while (firstEnd <= position && !byEnd.isEmpty) free(byEnd.poll())
    compact()
  }

  def iterator: Iterator[OpenRow] = slots.iterator.filter(_ != null)

  def clear(): Unit = {
    slots.clear()
    byEnd.clear()
    clearLevels()
    count = 0
  }

  private def free(row: OpenRow): Unit = {
    slots(row.slot) = null
    count -= 1
    val block = row.slot / BlockSize
    if (block == lastBlock) tail.forget(0) else invalidate(block)
    row.slot = OpenRow.NoSlot
  }

  /** Moves the rows together if more slots are empty than used. */
  private def compact(): Unit = if (slots.length - count > math.max(count, BlockSize)) {
    slots.filterInPlace(_ != null): Unit
    var slot = 0
    while (slot < slots.length) {
      slots(slot).slot = slot
      slot += 1
    }
    clearLevels()
    (0 until lastBlock).foreach(invalidate)
  }

  private def clearLevels(): Unit = {
    levels.clear()
    levels += new Level
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
        val above = new Level
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

  def write(out: StateWriter): Unit = {
    out.unsigned(slots.length)
    var start = 0L
    slots.foreach { row =>
      out.byte(if (row == null) 0 else 1)
      if (row != null) {
        LiveRows.writeRow(row, start, out)
        start = row.start
      }
    }
    out.unsigned(levels.length)
    levels.foreach(_.write(out))
  }
}

private[sweep] object OpenRows {

  /** Number of slots that share an accumulator. Their rows are aggregated again when one of them
    * changes.
    */
  final val BlockSize = 8

  private val ByEnd: Comparator[OpenRow] = Comparator.comparingLong[OpenRow](_.end)

  def read(in: StateReader): OpenRows = {
    val rows = new OpenRows
    var left = in.unsigned()
    var start = 0L
    while (left > 0) {
      if (in.byte() == 0) rows.slots += null
      else {
        val open = OpenRow.of(LiveRows.readRow(in, start))
        start = open.start
        open.slot = rows.slots.length
        rows.slots += open
        rows.count += 1
        if (open.end != Arrival.NoEnd) rows.byEnd.add(open)
      }
      left -= 1
    }
    rows.levels.clear()
    left = in.unsigned()
    while (left > 0) {
      rows.levels += Level.read(in)
      left -= 1
    }
    rows
  }
}

/** Computes the accumulator of the open rows of any key. Holds buffers: not thread-safe. */
private[sweep] final class OpenRowAggregation[R, A <: AnyRef](
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R]) {
  import Level.Nothing
  import OpenRows.BlockSize

  private val range = new ByteRange

  /** The accumulator of all rows; null if there are none. */
  def accumulatorOf(open: OpenRows): A =
    if (open.isEmpty) null.asInstanceOf[A]
    else {
      val top = open.levels.length - 1
      if (!open.tail.isKnown(0)) computeBlock(open, open.lastBlock, open.tail, 0)
      var all: A = null.asInstanceOf[A]
      def include(part: Array[Byte]): Unit = if (part ne Nothing)
        all = if (all == null) decoded(part) else aggregation.merge(all, decoded(part))
      (0 until open.levels(top).length).foreach(node => include(nodeOf(open, top, node)))
      include(open.tail(0))
      all
    }

  private def nodeOf(open: OpenRows, level: Int, node: Int): Array[Byte] = {
    val nodes = open.levels(level)
    if (!nodes.isKnown(node))
      if (level == 0) computeBlock(open, node, nodes, node) else compute(open, level, node)
    nodes(node)
  }

  private def compute(open: OpenRows, level: Int, node: Int): Unit = {
    val below = open.levels(level - 1).length
    val left = nodeOf(open, level - 1, 2 * node)
    val right = if (2 * node + 1 < below) nodeOf(open, level - 1, 2 * node + 1) else Nothing
    val nodes = open.levels(level)
    if ((left ne Nothing) && (right ne Nothing))
      set(nodes, node, aggregation.merge(decoded(left), decoded(right)))
    else {
      val one = if (right eq Nothing) left else right
      if (one eq Nothing) nodes.setNothing(node) else nodes.set(node, one, 0, one.length)
    }
  }

  private def computeBlock(open: OpenRows, block: Int, level: Level, node: Int): Unit = {
    var all: A = null.asInstanceOf[A]
    var slot = block * BlockSize
    val until = math.min(slot + BlockSize, open.slots.length)
    while (slot < until) {
      val row = open.slots(slot)
      if (row != null) {
        range.set(row.bytes, row.offset, row.length)
        all = aggregation.add(if (all == null) aggregation.create() else all, codec.view(range))
      }
      slot += 1
    }
    if (all == null) level.setNothing(node) else set(level, node, all)
  }

  private def decoded(bytes: Array[Byte]): A = aggregation.decode(bytes, 0, bytes.length)

  private def set(level: Level, node: Int, accumulator: A): Unit = {
    val encoded = aggregation.encode(accumulator)
    level.set(node, encoded.bytes, encoded.offset, encoded.length)
  }
}
