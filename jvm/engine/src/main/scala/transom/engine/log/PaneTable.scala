package transom.engine.log

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import transom.engine.KeyGroups

/** The records of one pane while rows are folded into them, found by key.
  *
  * Records lie behind each other as they do in a segment. Slots lie in the order of the upper
  * bits of the hash, so the table is handed out in order of (hash, key) nearly without sorting.
  */
final class PaneTable {
  import PaneTable._

  // Pages grow and are never copied. A record lies in one of them; where, is an int: the number of
  // the page in its upper bits.
  private val pages = ArrayBuffer.empty[ByteBuffer]
  private var page = addPage(FirstPage)
  private var end = 0
  private var pageBytes = FirstPage.toLong
  private var records = 0

  // Lower half of the hash, then one more than where the record lies; 0 is an empty slot.
  private var bits = 4
  private var slots = new Array[Long](slotsFor(bits))

  private var located = page
  private val writer = new SegmentWriter
  private val key = new Slice
  private val accumulator = new Slice
  private val bounds = new SessionBounds

  /** Bytes that the table takes. */
  def size: Long = pageBytes + slots.length * 8L

  /** What `locate` has answered points into this array. */
  def array: Array[Byte] = located.array

  /** Where the accumulator of a key lies; that of a new key is a copy of `fresh`. */
  def locate(key: Slice, fresh: Array[Byte]): Int = {
    val needed = Segment.RecordHeaderSize + key.length + fresh.length
    if (needed > page.capacity - end) nextPage(needed)
    // The key is written where a new record's would be. It stays there only if it is new.
    val keyAt = end + Segment.RecordHeaderSize
    System.arraycopy(key.bytes, key.offset, page.array, keyAt, key.length)
    val hash = KeyGroups.hash(page, keyAt, key.length)
    val tag = hash << 32
    var slot = home(hash)
    var entry = slots(slot)
    while (entry != 0L && !(((entry ^ tag) >>> 32) == 0L && isAt(entry, keyAt, key.length))) {
      slot += 1
      entry = slots(slot)
    }
    if (entry != 0L) {
      val at = position(entry)
      located = pageOf(at)
      offsetOf(at) + Segment.RecordHeaderSize + key.length
    } else {
      val at = ((pages.length - 1) << PageBits) | end
      page.putLong(end, hash).putInt(end + 8, key.length).putInt(end + 12, fresh.length)
      System.arraycopy(fresh, 0, page.array, keyAt + key.length, fresh.length)
      slots(slot) = tag | (at + 1)
      end += needed
      records += 1
      // The last slot stays empty: there every search ends.
      if (records > (1 << (bits - 1)) || slot >= slots.length - 2) growSlots()
      located = page
      keyAt + key.length
    }
  }

  /** Moves a session's bounds, which stand at the start of the located accumulator, to hold a
    * row.
    */
  def extend(accumulatorAt: Int, time: Long): Unit = {
    if (time < located.getLong(accumulatorAt)) located.putLong(accumulatorAt, time)
    if (time > located.getLong(accumulatorAt + 8)) located.putLong(accumulatorAt + 8, time)
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
    def groupAt(i: Int): Int = KeyGroups.groupOf(hashAt(order(i)), keyGroups)
    new AbstractIterator[(Int, Array[Byte])] {
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
    val in = pageOf(at)
    val offset = offsetOf(at)
    val hash = in.getLong(offset)
    key.set(in.array, offset + Segment.RecordHeaderSize, in.getInt(offset + 8))
    val from = key.offset + key.length
    val length = in.getInt(offset + 12)
    if (withBounds) {
      bounds.set(in.getLong(from), in.getLong(from + 8))
      accumulator.set(in.array, from + SessionBounds.Size, length - SessionBounds.Size)
      writer.append(hash, key, bounds, written(accumulator))
    } else writer.append(hash, key, written(accumulator.set(in.array, from, length)))
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
    val hashA = hashAt(a)
    val hashB = hashAt(b)
    if (hashA != hashB) hashA > hashB else compareKeys(a, b) > 0
  }

  private def compareKeys(a: Int, b: Int): Int = {
    val (pageA, pageB) = (pageOf(a), pageOf(b))
    val keyA = offsetOf(a) + Segment.RecordHeaderSize
    val keyB = offsetOf(b) + Segment.RecordHeaderSize
    Arrays.compareUnsigned(
      pageA.array,
      keyA,
      keyA + pageA.getInt(offsetOf(a) + 8),
      pageB.array,
      keyB,
      keyB + pageB.getInt(offsetOf(b) + 8))
  }

  private def home(hash: Long): Int = ((hash ^ Long.MinValue) >>> (64 - bits)).toInt

  private def position(entry: Long): Int = entry.toInt - 1

  private def pageOf(at: Int): ByteBuffer = pages(at >>> PageBits)

  private def offsetOf(at: Int): Int = at & (LargestPage - 1)

  private def hashAt(at: Int): Long = pageOf(at).getLong(offsetOf(at))

  /** Whether an entry is that of the key which has just been written to the current page. */
  private def isAt(entry: Long, keyAt: Int, length: Int): Boolean = {
    val at = position(entry)
    val in = pageOf(at)
    val from = offsetOf(at) + Segment.RecordHeaderSize
    in.getInt(offsetOf(at) + 8) == length &&
    Arrays.equals(in.array, from, from + length, page.array, keyAt, keyAt + length)
  }

  private def nextPage(needed: Int): Unit = {
    page = addPage(math.max(needed, math.min(page.capacity * 2, LargestPage)))
    pageBytes += page.capacity
    end = 0
  }

  private def addPage(size: Int): ByteBuffer = {
    pages += Segment.view(new Array[Byte](size))
    pages.last
  }

  private def growSlots(): Unit = {
    val entries = slots
    var fits = false
    while (!fits) {
      bits += 1
      slots = new Array[Long](slotsFor(bits))
      fits = enter(entries)
    }
  }

  /** Enters the records anew, from slots of another size; false if the last slot would be taken.
    */
  private def enter(entries: Array[Long]): Boolean = {
    val last = slots.length - 1
    var highest = 0
    var i = 0
    while (i < entries.length && highest < last) {
      val entry = entries(i)
      if (entry != 0L) {
        var slot = home(hashAt(position(entry)))
        while (slots(slot) != 0L) slot += 1
        slots(slot) = entry
        highest = math.max(highest, slot)
      }
      i += 1
    }
    highest < last
  }
}

private object PaneTable {
  private val PageBits = 18

  /** Below what the G1 collector counts as humongous, also in small heaps. */
  private val LargestPage = 1 << PageBits
  private val FirstPage = 1 << 9

  /** Searches go upwards only, so those from the topmost slots need room behind them. */
  private def slotsFor(bits: Int): Int = (1 << bits) + 32
}
