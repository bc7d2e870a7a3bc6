package transom.engine.log

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import transom.engine.KeyGroups

/** Records while rows are folded into them, found by key.
  *
  * They lie behind each other as they do in a segment. Slots lie in the order of the upper bits
  * of the hash, so the table is handed out in order of (hash, key) nearly without sorting.
  *
  * @param usage
  *   is told what the table takes
  */
abstract class KeyTable(usage: MemoryUsage) {
  import KeyTable._

  // Pages grow and are never copied. A record lies in one of them; where, is an int: the number of
  // the page in its upper bits.
  private val pages = ArrayBuffer.empty[ByteBuffer]
  private var lastPage = addPage(FirstPage)
  private var end = 0

  // Lower half of the hash, then one more than where the record lies; 0 is an empty slot.
  private var bits = 4
  private var slots = newSlots()
  private var held = 0

  private var slotAtHand = 0
  private var pageAtHand = lastPage

  protected val writer = new SegmentWriter
  protected val key = new ByteRange
  protected val accumulator = new ByteRange

  final def keys: Int = held

  /** What `locate` has answered points into this array. */
  final def array: Array[Byte] = pageAtHand.array

  /** The same as numbers. */
  protected final def numbers: ByteBuffer = pageAtHand

  /** Looks a key up: its record is at hand then. A new key's is a copy of `fresh`.
    *
    * @return
    *   where its accumulator lies in `array`
    */
  protected final def find(key: ByteRange, fresh: Array[Byte]): Int = {
    val needed = Segment.RecordHeaderSize + key.length + fresh.length
    if (needed > lastPage.capacity - end) nextPage(needed)
    // The key is written where a new record's would be. It stays there only if it is new.
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
      slotAtHand = slot
      pointAt(position(entry))
    } else {
      slots(slot) = tag | (append(hash, key.length, fresh) + 1)
      held += 1
      // The last slot stays empty: there every search ends.
      if (held > (1 << (bits - 1)) || slot >= slots.length - 2) growSlots()
      pageAtHand = lastPage
      keyAt + key.length
    }
  }

  /** Ends the record whose key has been written; answers where it lies. */
  private def append(hash: Long, keyLength: Int, fresh: Array[Byte]): Int = {
    val at = ((pages.length - 1) << PageBits) | end
    lastPage.putLong(end, hash).putInt(end + 8, keyLength).putInt(end + 12, fresh.length)
    end += Segment.RecordHeaderSize + keyLength
    System.arraycopy(fresh, 0, lastPage.array, end, fresh.length)
    end += fresh.length
    at
  }

  /** Where the record lies by which the key that was looked up, and had one, is found. */
  protected final def found: Int = position(slots(slotAtHand))

  /** Adds a record of that key, a copy of `fresh`; answers where it lies. */
  protected final def add(fresh: Array[Byte]): Int = {
    val from = pageOf(found)
    val offset = offsetOf(found)
    val keyLength = from.getInt(offset + 8)
    val needed = Segment.RecordHeaderSize + keyLength + fresh.length
    if (needed > lastPage.capacity - end) nextPage(needed)
    System.arraycopy(
      from.array,
      offset + Segment.RecordHeaderSize,
      lastPage.array,
      end + Segment.RecordHeaderSize,
      keyLength)
    append(from.getLong(offset), keyLength, fresh)
  }

  /** Finds that key by another record of its from now on. */
  protected final def findBy(at: Int): Unit =
    slots(slotAtHand) = slots(slotAtHand) >>> 32 << 32 | (at + 1)

  /** Takes a record at hand; answers where its accumulator lies in `array`. */
  protected final def pointAt(at: Int): Int = {
    pageAtHand = pageOf(at)
    val offset = offsetOf(at)
    offset + Segment.RecordHeaderSize + pageAtHand.getInt(offset + 8)
  }

  /** The records as segments, each with its key group.
    *
    * @param encode
    *   turns an accumulator of the table into that of the segment
    */
  final def segments(keyGroups: Int)(
      encode: ByteRange => ByteRange): Iterator[(Int, Array[Byte])] = {
    val order = sorted()
    new AbstractIterator[(Int, Array[Byte])] {
      private var ahead = 0
      private var record = NoRecord
      advance()

      override def hasNext: Boolean = record != NoRecord
      override def next(): (Int, Array[Byte]) = {
        val group = groupOf(record)
        while (record != NoRecord && !writer.isFull && groupOf(record) == group) {
          write(record, encode)
          record = behind(record)
          if (record == NoRecord) advance()
        }
        (group, writer.take())
      }

      private def advance(): Unit = if (ahead < order.length) {
        record = order(ahead)
        ahead += 1
      }
      private def groupOf(at: Int): Int = KeyGroups.groupOf(hashAt(at), keyGroups)
    }
  }

  /** Appends a record to the segment. */
  protected def write(at: Int, encode: ByteRange => ByteRange): Unit

  /** Where the next record of the same key lies, `NoRecord` if there is none. */
  protected def behind(at: Int): Int

  /** Points `key` and `accumulator` at those of a record; answers its hash. */
  protected final def read(at: Int): Long = {
    val in = pageOf(at)
    val offset = offsetOf(at)
    key.set(in.array, offset + Segment.RecordHeaderSize, in.getInt(offset + 8))
    accumulator.set(in.array, key.offset + key.length, in.getInt(offset + 12))
    in.getLong(offset)
  }

  /** Where the keys lie, in order of (hash, key): that of the slots but for near neighbours.
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

  /** Whether an entry is that of the key which has just been written to the last page. */
  private def isAt(entry: Long, keyAt: Int, length: Int): Boolean = {
    val at = position(entry)
    val in = pageOf(at)
    val from = offsetOf(at) + Segment.RecordHeaderSize
    in.getInt(offsetOf(at) + 8) == length &&
    Arrays.equals(in.array, from, from + length, lastPage.array, keyAt, keyAt + length)
  }

  private def nextPage(needed: Int): Unit = {
    lastPage = addPage(math.max(needed, math.min(lastPage.capacity * 2, LargestPage)))
    end = 0
  }

  private def addPage(size: Int): ByteBuffer = {
    usage.bytes += size
    pages += Segment.view(new Array[Byte](size))
    pages.last
  }

  /** Searches go upwards only, so those from the topmost slots need room behind them. */
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

  /** Enters the keys anew, from slots of another size; false if the last slot would be taken.
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

/** Bytes that tables take. */
final class MemoryUsage {
  var bytes: Long = 0L
}

private[log] object KeyTable {
  final val NoRecord = -1

  private final val PageBits = 18

  /** Below what the G1 collector counts as humongous, also in small heaps. */
  private final val LargestPage = 1 << PageBits
  private final val FirstPage = 1 << 9
}
