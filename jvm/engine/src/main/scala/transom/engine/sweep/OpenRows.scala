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
  * above the blocks. A row that enters or leaves changes one block and one path of the tree. So a
  * result costs O(log n), whichever row leaves. No aggregate needs an inverse.
  *
  * New rows go to the end. When more slots are empty than used, the rows move together. So the
  * slots, and the order in which accumulators are merged, depend only on the order of the calls.
  * Not thread-safe.
  */
private[sweep] final class OpenRows {
  import OpenRows._

  /** The rows by slot; null where a row has left. */
  private[sweep] val slots = ArrayBuffer.empty[OpenRow]

  /** The accumulators: those of the blocks, then each level above. The top level has at most two.
    * An accumulator is null if it must be computed. Those above it are then null too.
    */
  private[sweep] val levels = ArrayBuffer(ArrayBuffer.empty[Array[Byte]])
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
    row.slot = slots.length
    slots += row
    count += 1
    if (row.end != Arrival.NoEnd) byEnd.add(row)
    invalidate(row.slot)
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
    invalidate(row.slot)
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
    slot = 0
    while (slot < slots.length) {
      invalidate(slot)
      slot += BlockSize
    }
  }

  private def clearLevels(): Unit = {
    levels.clear()
    levels += ArrayBuffer.empty[Array[Byte]]
  }

  /** Marks the accumulators over a slot as unknown. */
  private def invalidate(slot: Int): Unit = {
    var node = slot / BlockSize
    var level = 0
    while (level < levels.length) {
      val nodes = levels(level)
      if (node == nodes.length) nodes += null
      else if (nodes(node) == null) level = levels.length
      else nodes(node) = null
      if (level == levels.length - 1 && nodes.length > 2) levels += ArrayBuffer(null, null)
      node /= 2
      level += 1
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
    levels.foreach { nodes =>
      out.unsigned(nodes.length)
      nodes.foreach { accumulator =>
        val kind = if (accumulator == null) Unknown else if (accumulator eq Nothing) Empty else Known
        out.byte(kind)
        if (kind == Known) out.array(accumulator)
      }
    }
  }
}

private[sweep] object OpenRows {

  /** Number of slots that share an accumulator. Their rows are aggregated again when one of them
    * changes.
    */
  final val BlockSize = 8

  /** The accumulator of no rows. */
  private[sweep] val Nothing = new Array[Byte](0)

  // How an accumulator is encoded.
  private final val Unknown = 0
  private final val Known = 1
  private final val Empty = 2

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
      val length = in.unsigned().toInt
      rows.levels += ArrayBuffer.fill(length)(in.byte() match {
        case Unknown => null
        case Empty => Nothing
        case _ => in.array()
      })
      left -= 1
    }
    rows
  }
}

/** Computes the accumulator of the open rows of any key. Holds buffers: not thread-safe. */
private[sweep] final class OpenRowAggregation[R, A <: AnyRef](
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R]) {
  import OpenRows._

  private val range = new ByteRange

  /** The accumulator of all rows; null if there are none. */
  def accumulatorOf(open: OpenRows): A =
    if (open.isEmpty) null.asInstanceOf[A]
    else {
      val top = open.levels.length - 1
      val left = nodeOf(open, top, 0)
      val right = if (open.levels(top).length > 1) nodeOf(open, top, 1) else Nothing
      if (right eq Nothing) decoded(left)
      else if (left eq Nothing) decoded(right)
      else aggregation.merge(decoded(left), decoded(right))
    }

  private def nodeOf(open: OpenRows, level: Int, node: Int): Array[Byte] = {
    val nodes = open.levels(level)
    if (nodes(node) == null)
      nodes(node) = if (level == 0) blockOf(open, node) else mergedOf(open, level - 1, 2 * node)
    nodes(node)
  }

  private def mergedOf(open: OpenRows, level: Int, node: Int): Array[Byte] = {
    val left = nodeOf(open, level, node)
    val right =
      if (node + 1 < open.levels(level).length) nodeOf(open, level, node + 1) else Nothing
    if (right eq Nothing) left
    else if (left eq Nothing) right
    else encoded(aggregation.merge(decoded(left), decoded(right)))
  }

  private def blockOf(open: OpenRows, block: Int): Array[Byte] = {
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
    if (all == null) Nothing else encoded(all)
  }

  private def decoded(bytes: Array[Byte]): A = aggregation.decode(bytes, 0, bytes.length)

  private def encoded(accumulator: A): Array[Byte] = aggregation.encode(accumulator).copied
}
