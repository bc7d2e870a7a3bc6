package transom.engine.state

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

/** The segment format: a block of records sorted by (hash, key bytes).
  *
  * A record is a key with its accumulator. The state stores segments, and the exchange carries
  * them.
  *
  * {{{
  * header   version int, records int, earliest last long, last hash long
  * record   hash long, key length int, accumulator length int, key, accumulator
  * }}}
  *
  * All numbers are little endian. Lengths are multiples of 8, so records stay aligned.
  * `earliest last` is the earliest last row time of the sessions in the segment. A segment of
  * grid windows has `Long.MaxValue` there.
  */
object Segment {
  final val Version = 3
  final val HeaderSize = 24
  final val RecordHeaderSize = 16

  /** Size in bytes at which a writer starts a new segment: small enough for the block cache of
    * the state store, large enough to stream.
    */
  final val TargetSize = 1 << 18

  /** The same for segments of sessions. They are smaller because closing sessions are looked up
    * by key.
    */
  final val SessionTargetSize = 1 << 15

  /** The earliest last row time of the sessions in a segment; `Long.MaxValue` if it has none. */
  def earliestLast(segment: Array[Byte]): Long = view(segment).getLong(8)

  /** The first and the last hash of a segment, which bound all others. The segment must not be
    * empty.
    */
  def hashes(segment: Array[Byte]): (Long, Long) =
    (view(segment).getLong(HeaderSize), view(segment).getLong(16))

  private[engine] def view(bytes: Array[Byte]): ByteBuffer =
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
}

/** Builds segments from records that arrive in order of (hash, key). The writer can be reused
  * after `take`. Not thread-safe.
  */
final class SegmentWriter {
  private var bytes = new Array[Byte](1 << 12)
  private var buffer = Segment.view(bytes)
  private var position = Segment.HeaderSize
  private var records = 0
  private var earliestLast = Long.MaxValue
  private var lastHash = 0L

  def isEmpty: Boolean = records == 0

  /** Whether the segment has reached its target size, so the caller should `take` it. */
  def isFull: Boolean = {
    val target =
      if (earliestLast == Long.MaxValue) Segment.TargetSize else Segment.SessionTargetSize
    position >= target
  }

  /** Appends the record of a grid window. The bytes are copied. */
  def append(hash: Long, key: ByteRange, accumulator: ByteRange): Unit = {
    val at = record(hash, key, accumulator.length)
    System.arraycopy(accumulator.bytes, accumulator.offset, bytes, at, accumulator.length)
  }

  /** Appends the record of a session, with its bounds in front of its accumulator. The bytes are
    * copied.
    */
  def append(hash: Long, key: ByteRange, bounds: SessionBounds, accumulator: ByteRange): Unit = {
    val at = record(hash, key, SessionBounds.Size + accumulator.length)
    bounds.write(buffer, at)
    earliestLast = math.min(earliestLast, bounds.last)
    val from = at + SessionBounds.Size
    System.arraycopy(accumulator.bytes, accumulator.offset, bytes, from, accumulator.length)
  }

  /** Returns the segment as a new array, and starts an empty segment. */
  def take(): Array[Byte] = {
    buffer.putInt(0, Segment.Version)
    buffer.putInt(4, records)
    buffer.putLong(8, earliestLast)
    buffer.putLong(16, lastHash)
    val segment = Arrays.copyOf(bytes, position)
    position = Segment.HeaderSize
    records = 0
    earliestLast = Long.MaxValue
    segment
  }

  /** Writes the record up to the accumulator, and returns the offset of the accumulator. */
  private def record(hash: Long, key: ByteRange, accumulatorLength: Int): Int = {
    val size = Segment.RecordHeaderSize + key.length + accumulatorLength
    if (size > bytes.length - position) grow(size)
    lastHash = hash
    buffer.putLong(position, hash)
    buffer.putInt(position + 8, key.length)
    buffer.putInt(position + 12, accumulatorLength)
    val keyAt = position + Segment.RecordHeaderSize
    System.arraycopy(key.bytes, key.offset, bytes, keyAt, key.length)
    position += size
    records += 1
    keyAt + key.length
  }

  private def grow(size: Int): Unit = {
    bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, Math.addExact(position, size)))
    buffer = Segment.view(bytes)
  }
}

/** Reads the records of one run, that is of consecutive segments.
  *
  * A cursor stands before its first record until `advance` is called. `key` and `accumulator` are
  * reused: they are valid until the next `advance`. They point into the segment's array, which is
  * never overwritten. Not thread-safe.
  *
  * @param segments
  *   the segments of the run, in order; each is loaded only when it is reached
  */
final class Cursor(segments: Iterator[Array[Byte]]) {
  private var buffer: ByteBuffer = _
  private var next = 0
  private var left = 0
  var hash: Long = 0L
  val key = new ByteRange
  val accumulator = new ByteRange

  /** Moves to the next record; false at the end. */
  def advance(): Boolean = {
    while (left == 0 && segments.hasNext) open(segments.next())
    if (left == 0) false
    else {
      val bytes = buffer.array
      hash = buffer.getLong(next)
      val keyLength = buffer.getInt(next + 8)
      val accumulatorLength = buffer.getInt(next + 12)
      val keyAt = next + Segment.RecordHeaderSize
      key.set(bytes, keyAt, keyLength)
      accumulator.set(bytes, keyAt + keyLength, accumulatorLength)
      next = keyAt + keyLength + accumulatorLength
      left -= 1
      true
    }
  }

  /** The long at byte `at` of the current accumulator. */
  def long(at: Int): Long = buffer.getLong(accumulator.offset + at)

  private def open(segment: Array[Byte]): Unit = {
    buffer = Segment.view(segment)
    val version = buffer.getInt(0)
    if (version != Segment.Version) throw new UnknownSegmentVersion(version, Segment.Version)
    left = buffer.getInt(4)
    next = Segment.HeaderSize
  }
}

/** The state was written in a segment or directory format that this version cannot read.
  *
  * @param version
  *   the format version found in the state
  * @param reads
  *   the format version that this library reads
  */
final class UnknownSegmentVersion(val version: Int, reads: Int)
    extends IllegalStateException(
      s"the state holds segments of format $version, this version reads $reads: " +
        "continue with the version that wrote the checkpoint, or start with a new checkpoint")
