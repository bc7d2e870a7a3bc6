package transom.engine.combine

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.AbstractIterator

import transom.engine.state.{ByteRange, KeyGroups, Segment, SegmentWriter}

/** A hash table that aggregates rows by key on the map side, and returns its records as segments.
  *
  * Slots are ordered by the upper bits of the hash. The table therefore returns its records in
  * order of (hash, key) almost without sorting.
  *
  * A table has a current slot and a current page. `find` sets the page and, if the key is not
  * new, the slot. Other methods depend on both, so the order of calls matters. Not thread-safe.
  *
  * @param usage
  *   counts the bytes of the table
  */
abstract class KeyTable(usage: MemoryUsage) extends RecordPages(usage) {
  import KeyTable.NoRecord

  // The upper 32 bits of an entry are the lower half of the hash. The lower 32 bits are the
  // position of the record plus one. An empty slot holds 0.
  private var bits = 4
  private var slots = newSlots()
  private var held = 0

  private var currentSlot = 0
  private var currentPage = lastPage

  protected val writer = new SegmentWriter

  /** The number of keys in the table. */
  final def keys: Int = held

  /** The array of the current page. Offsets that `locate` returns point into this array. The
    * array is valid until the next `locate`.
    */
  final def array: Array[Byte] = currentPage.array

  /** The current page as a little-endian buffer. */
  protected final def numbers: ByteBuffer = currentPage

  /** Looks up a key and makes its record the current one. A new key gets a record whose
    * accumulator is a copy of `fresh`.
    *
    * @return
    *   offset of the record's accumulator in `array`
    */
  protected final def find(key: ByteRange, fresh: Array[Byte]): Int = {
    reserve(Segment.RecordHeaderSize + key.length + fresh.length)
    // The key is copied to the end of the last page, so that it can be hashed and compared there.
    // It becomes part of a record only if the key is new.
    val keyAt = end + Segment.RecordHeaderSize
    System.arraycopy(key.bytes, key.offset, lastPage.array, keyAt, key.length)
    val hash = KeyGroups.hash(lastPage, keyAt, key.length)
    val tag = hash << 32
    var slot = home(hash)
    var entry = slots(slot)
    while (entry != 0L && !(((entry ^ tag) >>> 32) == 0L && isAt(entry, keyAt, key.length))) {
      slot += 1
      entry = slots(slot)
    }
    if (entry != 0L) {
      currentSlot = slot
      pointAt(position(entry))
    } else {
      slots(slot) = tag | (append(hash, key.length, fresh) + 1)
      held += 1
      // The last slot stays empty, so every search ends there at the latest.
      if (held > (1 << (bits - 1)) || slot >= slots.length - 2) growSlots()
      currentPage = lastPage
      keyAt + key.length
    }
  }

  /** Position of the record that the current slot refers to. Valid only after `find` of a key
    * that the table already had.
    */
  protected final def found: Int = position(slots(currentSlot))

  /** Adds another record for the key of the current slot, with a copy of `fresh` as accumulator.
    * The slot does not refer to the new record until `pointSlotAt` is called.
    *
    * @return
    *   position of the record
    */
  protected final def add(fresh: Array[Byte]): Int = {
    val from = pageOf(found)
    val offset = offsetOf(found)
    val keyLength = from.getInt(offset + 8)
    reserve(Segment.RecordHeaderSize + keyLength + fresh.length)
    System.arraycopy(
      from.array,
      offset + Segment.RecordHeaderSize,
      lastPage.array,
      end + Segment.RecordHeaderSize,
      keyLength)
    append(from.getLong(offset), keyLength, fresh)
  }

  /** Makes the current slot refer to another record of the same key. */
  protected final def pointSlotAt(at: Int): Unit =
    slots(currentSlot) = slots(currentSlot) >>> 32 << 32 | (at + 1)

  /** Makes the page of a record the current one.
    *
    * @return
    *   offset of the record's accumulator in `array`
    */
  protected final def pointAt(at: Int): Int = {
    currentPage = pageOf(at)
    val offset = offsetOf(at)
    offset + Segment.RecordHeaderSize + currentPage.getInt(offset + 8)
  }

  /** Returns the records as segments, each with its key group, in order of (hash, key). The
    * iterator builds segments lazily. Exhaust it before adding more rows.
    *
    * @param keyGroups
    *   number of key groups
    * @param encode
    *   converts an accumulator of the table to an accumulator of the segment
    */
  final def segments(keyGroups: Int)(
      encode: ByteRange => ByteRange): Iterator[(Int, Array[Byte])] = {
    val order = sorted()
    new AbstractIterator[(Int, Array[Byte])] {
      private var nextIndex = 0
      private var record = NoRecord
      advance()

      override def hasNext: Boolean = record != NoRecord
      override def next(): (Int, Array[Byte]) = {
        val group = groupOf(record)
        while (record != NoRecord && !writer.isFull && groupOf(record) == group) {
          write(record, encode)
          record = nextRecord(record)
          if (record == NoRecord) advance()
        }
        (group, writer.take())
      }

      private def advance(): Unit = if (nextIndex < order.length) {
        record = order(nextIndex)
        nextIndex += 1
      }
      private def groupOf(at: Int): Int = KeyGroups.groupOf(hashAt(at), keyGroups)
    }
  }

  /** Appends the record at a position to `writer`. */
  protected def write(at: Int, encode: ByteRange => ByteRange): Unit

  /** Position of the next record of the same key, or `NoRecord`. */
  protected def nextRecord(at: Int): Int

  /** Positions of the keys' records in order of (hash, key). Slots are almost in this order, so
    * insertion sort moves only close neighbours.
    */
  private def sorted(): Array[Int] = {
    val order = new Array[Int](held)
    var n = 0
    var slot = 0
    while (n < held) {
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

  private def home(hash: Long): Int = ((hash ^ Long.MinValue) >>> (64 - bits)).toInt

  private def position(entry: Long): Int = entry.toInt - 1

  /** Whether the record of an entry has the key that was just written to the last page. */
  private def isAt(entry: Long, keyAt: Int, length: Int): Boolean = {
    val at = position(entry)
    val in = pageOf(at)
    val from = offsetOf(at) + Segment.RecordHeaderSize
    in.getInt(offsetOf(at) + 8) == length &&
    Arrays.equals(in.array, from, from + length, lastPage.array, keyAt, keyAt + length)
  }

  /** Allocates slots. Searches only go upwards, so the topmost home slots need spare slots after
    * them.
    */
  private def newSlots(): Array[Long] = {
    val length = (1 << bits) + 32
    usage.bytes += length * 8L
    new Array[Long](length)
  }

  private def growSlots(): Unit = {
    val entries = slots
    var fits = false
    while (!fits) {
      bits += 1
      usage.bytes -= slots.length * 8L
      slots = newSlots()
      fits = enter(entries)
    }
  }

  /** Inserts the entries of the old slots into the new ones. Returns false if the last slot is
    * needed.
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

/** Constants of [[KeyTable]]. */
private[combine] object KeyTable {

  /** The position that stands for no record. */
  final val NoRecord = -1
}
