package transom.engine.state

import java.util.Arrays

/** Writes numbers and byte arrays in a compact variable-length format. Reusable after `take`; not
  * thread-safe.
  */
final class StateWriter {
  private var bytes = new Array[Byte](256)
  private var position = 0

  /** The number of bytes written since `take`. */
  def length: Int = position

  def byte(value: Int): Unit = {
    reserve(1)
    bytes(position) = value.toByte
    position += 1
  }

  /** Writes a varint: seven bits per byte, lowest bits first. Negative numbers need ten bytes. */
  def unsigned(value: Long): Unit = {
    reserve(10)
    var rest = value
    while ((rest & ~0x7fL) != 0) {
      bytes(position) = (rest & 0x7f | 0x80).toByte
      position += 1
      rest >>>= 7
    }
    bytes(position) = rest.toByte
    position += 1
  }

  /** Writes a zigzag varint, so that numbers near zero of either sign need few bytes. */
  def signed(value: Long): Unit = unsigned((value << 1) ^ (value >> 63))

  /** Writes the length as a varint, and then the bytes. */
  def array(from: Array[Byte], offset: Int, length: Int): Unit = {
    unsigned(length)
    reserve(length)
    System.arraycopy(from, offset, bytes, position, length)
    position += length
  }

  def array(from: Array[Byte]): Unit = array(from, 0, from.length)

  /** Returns a copy of the written bytes and resets the writer. */
  def take(): Array[Byte] = {
    val written = Arrays.copyOf(bytes, position)
    position = 0
    written
  }

  /** Copies the written bytes to an array, and resets the writer. */
  def take(target: Array[Byte], offset: Int): Unit = {
    System.arraycopy(bytes, 0, target, offset, position)
    position = 0
  }

  private def reserve(more: Int): Unit =
    if (more > bytes.length - position) {
      bytes = Arrays.copyOf(bytes, math.max(2 * bytes.length, Math.addExact(position, more)))
    }
}

/** Reads what `StateWriter` wrote, in the same order. */
final class StateReader(val bytes: Array[Byte], private var position: Int = 0) {

  /** Position of the next byte to read. */
  def offset: Int = position

  def byte(): Int = {
    val value = bytes(position)
    position += 1
    value & 0xff
  }

  def unsigned(): Long = {
    var value = 0L
    var shift = 0
    var next = byte()
    while ((next & 0x80) != 0) {
      value |= (next & 0x7fL) << shift
      shift += 7
      next = byte()
    }
    value | next.toLong << shift
  }

  def signed(): Long = {
    val value = unsigned()
    (value >>> 1) ^ -(value & 1)
  }

  def array(): Array[Byte] = {
    val length = unsigned().toInt
    val from = position
    position += length
    Arrays.copyOfRange(bytes, from, position)
  }

  /** Skips an array and returns its length. */
  def skipArray(): Int = {
    val length = unsigned().toInt
    position += length
    length
  }
}
