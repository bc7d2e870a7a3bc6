package transom.engine.sweep

import transom.engine.keyed.contract.{RowCodec, WindowAggregation}
import transom.engine.state.ByteRange

/** Computes the accumulator of the open rows of any key. Holds buffers: not thread-safe. */
private[sweep] final class OpenRowAggregation[R, A <: AnyRef](
    aggregation: WindowAggregation[R, A],
    codec: RowCodec[R]) {
  import OpenRows.BlockSize

  private val range = new ByteRange

  /** The accumulator of all rows; null if there are none. */
  def accumulatorOf(open: OpenRows): A =
    if (open.isEmpty) null.asInstanceOf[A]
    else {
      if (!open.tail.isKnown(0)) set(open.tail, 0, blockOf(open, open.lastBlock))
      val top = open.levels.length - 1
      var all = decoded(open.tail, 0)
      var node = open.levels(top).length
      while (node > 0) {
        node -= 1
        all = merge(nodeOf(open, top, node), all)
      }
      all
    }

  /** The accumulator of a node; null if it has no rows. */
  private def nodeOf(open: OpenRows, level: Int, node: Int): A = {
    val nodes = open.levels(level)
    if (!nodes.isKnown(node)) {
      val accumulator =
        if (level == 0) blockOf(open, node)
        else {
          val left = nodeOf(open, level - 1, 2 * node)
          val hasRight = 2 * node + 1 < open.levels(level - 1).length
          if (hasRight) merge(left, nodeOf(open, level - 1, 2 * node + 1)) else left
        }
      set(nodes, node, accumulator)
    }
    decoded(nodes, node)
  }

  private def blockOf(open: OpenRows, block: Int): A = {
    var all: A = null.asInstanceOf[A]
    var slot = block * BlockSize
    val until = math.min(slot + BlockSize, open.slots.length)
    while (slot < until) {
      val isSmall = open.encoded.view(slot, range)
      if (!isSmall && !open.encoded.isKnown(slot)) {
        val row = open.slots(slot)
        range.set(row.bytes, row.offset, row.length)
      }
      if (isSmall || !open.encoded.isKnown(slot))
        all = aggregation.add(if (all == null) aggregation.create() else all, codec.view(range))
      slot += 1
    }
    all
  }

  private def merge(left: A, right: A): A =
    if (left == null) right
    else if (right == null) left
    else aggregation.merge(left, right)

  private def decoded(level: NodeAccumulators, node: Int): A =
    if (level.view(node, range)) aggregation.decode(range.bytes, range.offset, range.length)
    else null.asInstanceOf[A]

  private def set(level: NodeAccumulators, node: Int, accumulator: A): Unit =
    if (accumulator == null) level.empty(node)
    else {
      val encoded = aggregation.encode(accumulator)
      level.set(node, encoded.bytes, encoded.offset, encoded.length)
    }
}
