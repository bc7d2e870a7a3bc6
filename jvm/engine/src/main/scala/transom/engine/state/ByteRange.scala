package transom.engine.state

import java.util.Arrays

/** A mutable reference to a part of a byte array. The bytes are not copied. Not thread-safe. */
final class ByteRange {
  var bytes: Array[Byte] = Array.emptyByteArray
  var offset: Int = 0
  var length: Int = 0

  def set(bytes: Array[Byte], offset: Int, length: Int): this.type = {
    this.bytes = bytes
    this.offset = offset
    this.length = length
    this
  }

  def set(other: ByteRange): this.type = set(other.bytes, other.offset, other.length)

  /** A copy of the bytes. */
  def copied: Array[Byte] = Arrays.copyOfRange(bytes, offset, offset + length)

  /** Whether both ranges have the same bytes. */
  def contentEquals(other: ByteRange): Boolean =
    Arrays.equals(
      bytes,
      offset,
      offset + length,
      other.bytes,
      other.offset,
      other.offset + other.length)

  /** Compares the bytes as unsigned numbers, in lexicographic order. */
  def compareTo(other: ByteRange): Int =
    Arrays.compareUnsigned(
      bytes,
      offset,
      offset + length,
      other.bytes,
      other.offset,
      other.offset + other.length)
}
