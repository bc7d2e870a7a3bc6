package transom.engine.sweep

import java.util.{Arrays, BitSet}

import scala.collection.mutable.ArrayBuffer

import transom.engine.keyed.state.{StateReader, StateWriter}

/** The accumulators of a level of the tree over [[OpenRows]]. Not thread-safe. */
private[sweep] final class Level {
  import Level._

  private val accumulators = ArrayBuffer.empty[Array[Byte]]
  private val known = new BitSet

  def length: Int = accumulators.length

  def isKnown(node: Int): Boolean = known.get(node)

  /** An accumulator that is known; `Level.Nothing` if it has no rows. Changed by the next `set`.
    */
  def apply(node: Int): Array[Byte] = accumulators(node)

  /** Adds a node whose accumulator is not known. */
  def grow(): Unit = accumulators += Nothing

  def forget(node: Int): Unit = known.clear(node)

  /** Sets an accumulator. Copies the bytes. */
  def set(node: Int, bytes: Array[Byte], offset: Int, length: Int): Unit = {
    known.set(node)
    val old = accumulators(node)
    // The same array saves the garbage collector a reference from an old object to a new one.
    if ((old ne Nothing) && old.length == length)
      System.arraycopy(bytes, offset, old, 0, length)
    else accumulators(node) = Arrays.copyOfRange(bytes, offset, offset + length)
  }

  /** Notes that a node has no rows. */
  def setNothing(node: Int): Unit = {
    known.set(node)
    accumulators(node) = Nothing
  }

  def write(out: StateWriter): Unit = {
    out.unsigned(length)
    var node = 0
    while (node < length) {
      val kind =
        if (!isKnown(node)) Unknown else if (accumulators(node) eq Nothing) Empty else Known
      out.byte(kind)
      if (kind == Known) out.array(accumulators(node))
      node += 1
    }
  }
}

private[sweep] object Level {

  /** The accumulator of no rows. */
  val Nothing = new Array[Byte](0)

  // How an accumulator is encoded.
  private final val Unknown = 0
  private final val Known = 1
  private final val Empty = 2

  def read(in: StateReader): Level = {
    val level = new Level
    val length = in.unsigned().toInt
    while (level.length < length) {
      val kind = in.byte()
      level.accumulators += (if (kind == Known) in.array() else Nothing)
      if (kind != Unknown) level.known.set(level.length - 1)
    }
    level
  }
}
