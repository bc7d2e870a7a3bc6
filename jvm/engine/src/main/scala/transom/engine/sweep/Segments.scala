package transom.engine.sweep

import java.util.BitSet

import transom.engine.state.{StateReader, StateWriter}

/** Stores a list of items in segments of equally many items, each an entry of the state. Only
  * segments with changed items are written. A short list is part of the key's value instead.
  *
  * {{{
  * items   number of items; without entries the items
  * }}}
  *
  * Not thread-safe.
  *
  * @param list
  *   the list of the entries
  */
private[sweep] final class Segments(list: Long) {
  import Segments._

  private val changed = new BitSet
  private var stored = 0

  /** Notes that an item has changed, or is new. */
  def note(item: Int): Unit = changed.set(item / Size)

  /** Writes a list of `count` items.
    *
    * @param write
    *   writes the items from the first number to before the second one
    */
  def write(count: Int, store: SweepStore, out: StateWriter)(
      write: (Int, Int, StateWriter) => Unit): Unit = {
    val length = if (count <= Size) 0 else (count + Size - 1) / Size
    out.unsigned(count)
    if (length == 0) write(0, count, out)
    var segment = 0
    while (segment < length) {
      if (segment >= stored || changed.get(segment)) {
        write(segment * Size, math.min((segment + 1) * Size, count), store.out)
        store.entries.putBytes(list, segment, store.out.take())
      }
      segment += 1
    }
    remove(length, store)
    stored = length
    changed.clear()
  }

  /** Reads the list that `write` has written.
    *
    * @param read
    *   reads as many items as its first argument says
    */
  def read(store: SweepStore, in: StateReader)(read: (Int, StateReader) => Unit): Unit = {
    val count = in.unsigned().toInt
    if (count <= Size) read(count, in)
    else
      while (stored * Size < count) {
        val segment = new StateReader(store.entries.getBytes(list, stored))
        read(math.min(Size, count - stored * Size), segment)
        stored += 1
      }
    changed.clear()
  }

  def removeEntries(store: SweepStore): Unit = {
    remove(0, store)
    stored = 0
  }

  private def remove(from: Int, store: SweepStore): Unit = {
    var segment = from
    while (segment < stored) {
      store.entries.remove(list, segment)
      segment += 1
    }
  }
}

private[sweep] object Segments {

  /** Number of items of a segment. */
  final val Size = 64
}
