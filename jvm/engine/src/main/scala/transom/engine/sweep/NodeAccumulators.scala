package transom.engine.sweep

import java.util.Arrays

import transom.engine.state.{ByteRange, StateReader, StateWriter}

/** The accumulators of a level of the tree over [[OpenRows]].
  *
  * Small accumulators of equal length are in one array, in the order of their nodes. So both
  * children of a node are in one cache line. Not thread-safe.
  *
  * @param list
  *   the list of the entries of the level
  */
private[sweep] final class NodeAccumulators(list: Long) {
  import NodeAccumulators._

  private val segments = new Segments(list)

  /** For each node what is known of its accumulator. */
  private var kinds = new Array[Byte](16)
  private var count = 0

  /** The accumulators of nodes of the kind `Known`, each of `width` bytes. */
  private var bytes = Array.emptyByteArray
  private var width = 0

  /** The accumulators of nodes of the kind `Apart`. */
  private var apart = new Array[Array[Byte]](0)

  def length: Int = count

  def isKnown(node: Int): Boolean = kinds(node) != Unknown

  /** Points `range` at an accumulator. False if it is not known, or if it has no rows. */
  def view(node: Int, range: ByteRange): Boolean = {
    val kind = kinds(node)
    if (kind == Known) range.set(bytes, node * width, width)
    else if (kind == Apart) range.set(apart(node), 0, apart(node).length)
    kind == Known || kind == Apart
  }

  /** Adds a node whose accumulator is not known. */
  def grow(): Unit = {
    if (count == kinds.length) {
      kinds = Arrays.copyOf(kinds, 2 * count)
      bytes = Arrays.copyOf(bytes, 2 * count * width)
    }
    become(count, Unknown)
    count += 1
  }

  def forget(node: Int): Unit = become(node, Unknown)

  /** Notes that a node has no rows. */
  def empty(node: Int): Unit = become(node, Empty)

  private def become(node: Int, kind: Byte): Unit = {
    kinds(node) = kind
    segments.note(node)
  }

  /** Moves what is known of a node to a node before it. */
  def move(from: Int, to: Int): Unit = {
    become(to, kinds(from))
    if (kinds(to) == Known) System.arraycopy(bytes, from * width, bytes, to * width, width)
    else if (kinds(to) == Apart) {
      apart(to) = apart(from)
      // `set` writes into the array of a node.
      apart(from) = null
    }
  }

  /** Removes all nodes but the first `length`. */
  def truncate(length: Int): Unit = count = length

  /** Sets an accumulator. Copies the bytes. */
  def set(node: Int, from: Array[Byte], offset: Int, length: Int): Unit = {
    if (width == 0 && length <= MaxWidth) {
      width = length
      bytes = new Array[Byte](kinds.length * width)
    }
    if (length == width && length > 0) {
      become(node, Known)
      System.arraycopy(from, offset, bytes, node * width, width)
    } else {
      become(node, Apart)
      if (node >= apart.length) apart = Arrays.copyOf(apart, kinds.length)
      val old = apart(node)
      // The same array saves the garbage collector a reference from an old object to a new one.
      if (old != null && old.length == length) System.arraycopy(from, offset, old, 0, length)
      else apart(node) = Arrays.copyOfRange(from, offset, offset + length)
    }
  }

  /** Removes all entries. */
  def removeEntries(store: SweepStore): Unit = segments.removeEntries(store)

  /** Adds the nodes that `write` has written to no nodes. */
  def read(store: SweepStore, in: StateReader): Unit = segments.read(store, in)(readNodes)

  private def readNodes(count: Int, in: StateReader): Unit = {
    var left = count
    while (left > 0) {
      val kind = in.byte()
      grow()
      if (kind == Known) {
        val length = in.skipArray()
        set(this.count - 1, in.bytes, in.offset - length, length)
      } else become(this.count - 1, kind.toByte)
      left -= 1
    }
  }

  /** Writes what has changed to its entries, and the rest. */
  def write(store: SweepStore, out: StateWriter): Unit =
    segments.write(length, store, out)(writeNodes)

  private def writeNodes(from: Int, until: Int, out: StateWriter): Unit = {
    var node = from
    while (node < until) {
      kinds(node) match {
        case Known =>
          out.byte(Known)
          out.array(bytes, node * width, width)
        case Apart =>
          out.byte(Known)
          out.array(apart(node))
        case kind => out.byte(kind)
      }
      node += 1
    }
  }
}

private[sweep] object NodeAccumulators {

  /** The largest size of accumulators that are in one array, in bytes: a cache line. */
  final val MaxWidth = 64

  // What is known of an accumulator, as it is encoded.
  private final val Unknown = 0
  private final val Known = 1
  private final val Empty = 2
  // Not in `bytes`. Encoded like `Known`.
  private final val Apart = 3
}
