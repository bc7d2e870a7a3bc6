package transom.engine.combine

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import transom.engine.state.{ByteRange, Segment}

/** Holds records one after another in pages, in the format of segment records.
  *
  * Pages double in size up to `LargestPage` and are never copied. A record lies in one page. Its
  * position is an int: page number in the upper bits, offset in the page in the lower bits. Not
  * thread-safe.
  *
  * @param usage
  *   counts the bytes of the pages
  */
abstract class RecordPages(usage: MemoryUsage) {
  import RecordPages._

  private val pages = ArrayBuffer.empty[ByteBuffer]
  private var last = addPage(FirstPage)
  private var used = 0

  protected val key = new ByteRange
  protected val accumulator = new ByteRange

  /** The page to which the next record is appended, as a little-endian buffer. */
  protected final def lastPage: ByteBuffer = last

  /** The offset of the next record in the last page. */
  protected final def end: Int = used

  /** Makes room for a record of `size` bytes in the last page. May replace the last page. */
  protected final def reserve(size: Int): Unit =
    if (size > room) {
      last = addPage(math.max(size, math.min(last.capacity * 2, LargestPage)))
      used = 0
    }

  // A page above the largest size holds one record. It is left empty if its record has not been
  // appended, and then takes small records as far as an offset can point.
  private def room: Int =
    if (used == 0) last.capacity else math.min(last.capacity, LargestPage) - used

  /** Completes the record whose key has been written at the end of the last page.
    *
    * @return
    *   position of the record
    */
  protected final def append(hash: Long, keyLength: Int, fresh: Array[Byte]): Int = {
    val at = ((pages.length - 1) << PageBits) | used
    last.putLong(used, hash).putInt(used + 8, keyLength).putInt(used + 12, fresh.length)
    used += Segment.RecordHeaderSize + keyLength
    System.arraycopy(fresh, 0, last.array, used, fresh.length)
    used += fresh.length
    at
  }

  /** Points `key` and `accumulator` at the bytes of a record, and returns the record's hash. */
  protected final def read(at: Int): Long = {
    val in = pageOf(at)
    val offset = offsetOf(at)
    key.set(in.array, offset + Segment.RecordHeaderSize, in.getInt(offset + 8))
    accumulator.set(in.array, key.offset + key.length, in.getInt(offset + 12))
    in.getLong(offset)
  }

  /** The page of the record at a position. */
  protected final def pageOf(at: Int): ByteBuffer = pages(at >>> PageBits)

  /** The offset of the record at a position in its page. */
  protected final def offsetOf(at: Int): Int = at & (LargestPage - 1)

  /** The hash of the record at a position. */
  protected final def hashAt(at: Int): Long = pageOf(at).getLong(offsetOf(at))

  /** Whether record `a` comes after record `b` in the order of (hash, key). */
  protected final def isAfter(a: Int, b: Int): Boolean = {
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

  private def addPage(size: Int): ByteBuffer = {
    usage.bytes += size
    pages += Segment.view(new Array[Byte](size))
    pages.last
  }
}

/** Constants of [[RecordPages]]. */
private object RecordPages {
  private final val PageBits = 18

  /** Size of the largest page that is shared by records, in bytes. It stays below the size at
    * which the G1 collector treats arrays as humongous, even in small heaps.
    */
  private final val LargestPage = 1 << PageBits
  private final val FirstPage = 1 << 9
}
