package transom.engine.log

import java.util.Arrays

import transom.engine.KeyGroups

/** The records of one pane while rows are folded into them, found by key.
  *
  * Records lie behind each other as they do in a segment. Slots lie in the order of the upper
  * bits of the hash, so the table is handed out in order of (hash, key) nearly without sorting.
  */
final class PaneTable {
  private var bytes = new Array[Byte](1 << 10)
  private var view = Segment.view(bytes)
  private var end = 0
  private var records = 0

  // Lower half of the hash, then one more than where the record lies; 0 is an empty slot.
  private var bits = 5
  private var slots = new Array[Long](PaneTable.slotsFor(bits))

  private val writer = new SegmentWriter
  private val key = new Slice
  private val accumulator = new Slice
  private val bounds = new SessionBounds

  /** Bytes taken by records. */
  def size: Int = end

  /** What `locate` answers points into this array, until the next call. */
  def array: Array[Byte] = bytes

  /** Where the accumulator of a key lies; that of a new key is a copy of `fresh`. */
  def locate(key: Slice, fresh: Array[Byte]): Int = {
    val needed = Segment.RecordHeaderSize + key.length + fresh.length
    if (needed > bytes.length - end) growBytes(needed)
    // The key is written where a new record's would be. It stays there only if it is new.
    val keyAt = end + Segment.RecordHeaderSize
    System.arraycopy(key.bytes, key.offset, bytes, keyAt, key.length)
    val hash = KeyGroups.hash(view, keyAt, key.length)
    val tag = hash << 32
    var slot = home(hash)
    var entry = slots(slot)
    while (entry != 0L && !(((entry ^ tag) >>> 32) == 0L && isAt(entry, keyAt, key.length))) {
      slot += 1
      entry = slots(slot)
    }
    if (entry != 0L) accumulatorAt(position(entry))
    else {
      val at = end
      view.putLong(at, hash).putInt(at + 8, key.length).putInt(at + 12, fresh.length)
      System.arraycopy(fresh, 0, bytes, keyAt + key.length, fresh.length)
      slots(slot) = tag | (at + 1)
      end += needed
      records += 1
      // The last slot stays empty: there every search ends.
      if (records > (1 << (bits - 1)) || slot >= slots.length - 2) growSlots()
      keyAt + key.length
    }
  }

  /** Moves a session's bounds, which stand at the start of its accumulator, to hold a row. */
  def extend(accumulatorAt: Int, time: Long): Unit = {
    if (time < view.getLong(accumulatorAt)) view.putLong(accumulatorAt, time)
    if (time > view.getLong(accumulatorAt + 8)) view.putLong(accumulatorAt + 8, time)
  }

  /** The records as segments, each with its key group.
    *
    * @param withBounds
    *   whether accumulators have the bounds of a session in front of them
    * @param written
    *   turns an accumulator of the table into that of the segment
    */
  def segments(keyGroups: Int, withBounds: Boolean)(
      written: Slice => Slice): Iterator[(Int, Array[Byte])] = {
    val order = sorted()
    def groupAt(i: Int): Int = KeyGroups.groupOf(view.getLong(order(i)), keyGroups)
    new Iterator[(Int, Array[Byte])] {
      private var at = 0
      override def hasNext: Boolean = at < records
      override def next(): (Int, Array[Byte]) = {
        val group = groupAt(at)
        while (at < records && !writer.isFull && groupAt(at) == group) {
          append(order(at), withBounds, written)
          at += 1
        }
        (group, writer.take())
      }
    }
  }

  private def append(at: Int, withBounds: Boolean, written: Slice => Slice): Unit = {
    val from = accumulatorAt(at)
    val length = view.getInt(at + 12)
    key.set(bytes, at + Segment.RecordHeaderSize, view.getInt(at + 8))
    if (withBounds) {
      bounds.set(view.getLong(from), view.getLong(from + 8), view.getLong(from + 16))
      accumulator.set(bytes, from + SessionBounds.Size, length - SessionBounds.Size)
      writer.append(view.getLong(at), key, bounds, written(accumulator))
    } else writer.append(view.getLong(at), key, written(accumulator.set(bytes, from, length)))
  }

  /** Where the records lie, in order of (hash, key): that of the slots but for near neighbours.
    */
  private def sorted(): Array[Int] = {
    val order = new Array[Int](records)
    var n = 0
    var slot = 0
    while (n < records) {
      val entry = slots(slot)
      slot += 1
      if (entry != 0L) {
        val at = position(entry)
        var i = n
        while (i > 0 && isAfter(order(i - 1), at)) {
          order(i) = order(i - 1)
          i -= 1
        }
        order(i) = at
        n += 1
      }
    }
    order
  }

  private def isAfter(a: Int, b: Int): Boolean = {
    val hashA = view.getLong(a)
    val hashB = view.getLong(b)
    if (hashA != hashB) hashA > hashB
    else {
      val keyA = a + Segment.RecordHeaderSize
      val keyB = b + Segment.RecordHeaderSize
      val endA = keyA + view.getInt(a + 8)
      Arrays.compareUnsigned(bytes, keyA, endA, bytes, keyB, keyB + view.getInt(b + 8)) > 0
    }
  }

  private def home(hash: Long): Int = ((hash ^ Long.MinValue) >>> (64 - bits)).toInt

  private def position(entry: Long): Int = entry.toInt - 1

  private def accumulatorAt(at: Int): Int = at + Segment.RecordHeaderSize + view.getInt(at + 8)

  private def isAt(entry: Long, keyAt: Int, length: Int): Boolean = {
    val at = position(entry)
    val from = at + Segment.RecordHeaderSize
    view.getInt(at + 8) == length &&
    Arrays.equals(bytes, from, from + length, bytes, keyAt, keyAt + length)
  }

  private def growBytes(needed: Int): Unit = {
    bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, Math.addExact(end, needed)))
    view = Segment.view(bytes)
  }

  private def growSlots(): Unit = {
    var fits = false
    while (!fits) {
      bits += 1
      slots = new Array[Long](PaneTable.slotsFor(bits))
      fits = enterAll()
    }
  }

  /** Enters all records; false if the last slot would be taken. */
  private def enterAll(): Boolean = {
    var at = 0
    var highest = 0
    while (at < end && highest < slots.length - 1) {
      val hash = view.getLong(at)
      var slot = home(hash)
      while (slots(slot) != 0L) slot += 1
      slots(slot) = (hash << 32) | (at + 1)
      highest = math.max(highest, slot)
      at = accumulatorAt(at) + view.getInt(at + 12)
    }
    highest < slots.length - 1
  }
}

private object PaneTable {

  /** Searches go upwards only, so those from the topmost slots need room behind them. */
  private def slotsFor(bits: Int): Int = (1 << bits) + 64
}
