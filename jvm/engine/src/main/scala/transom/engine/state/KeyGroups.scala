package transom.engine.state

import java.nio.{ByteBuffer, ByteOrder}

/** Assigns keys to key groups. State depends on the assignment, so this code must never change.
  *
  * The hash function is implemented here and not in a library: the state of a query outlives the
  * library version that wrote it.
  */
object KeyGroups {
  private final val C1 = 0x9e3779b185ebca87L
  private final val C2 = 0xc2b2ae3d27d4eb4fL
  private final val C3 = 0x165667b19e3779f9L

  /** Returns a 64-bit hash of the bytes `[offset, offset + length)`.
    *
    * @param bytes
    *   a little-endian buffer
    * @param offset
    *   index of the first byte
    * @param length
    *   number of bytes, a multiple of 8
    */
  def hash(bytes: ByteBuffer, offset: Int, length: Int): Long = {
    var h = C3 + length
    var i = offset
    val end = offset + length
    while (i < end) {
      h ^= java.lang.Long.rotateLeft(bytes.getLong(i) * C2, 31) * C1
      h = java.lang.Long.rotateLeft(h, 27) * C1 + C3
      i += 8
    }
    h ^= h >>> 33
    h *= C2
    h ^= h >>> 29
    h *= C3
    h ^ (h >>> 32)
  }

  /** Returns the hash of a part of an array. Its length is a multiple of 8. */
  def hash(bytes: Array[Byte], offset: Int, length: Int): Long =
    hash(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN), offset, length)

  /** Returns the hash of a whole array, whose length is a multiple of 8. */
  def hash(bytes: Array[Byte]): Long = hash(bytes, 0, bytes.length)

  /** Returns the hash of a range whose length is a multiple of 8. */
  def hash(key: ByteRange): Long = hash(key.bytes, key.offset, key.length)

  /** Returns the key group of a hash, in `[0, groups)`. A group is a range of hashes in signed
    * order, so keys sorted by hash are sorted by group.
    */
  def groupOf(hash: Long, groups: Int): Int =
    ((((hash ^ Long.MinValue) >>> 32) * groups) >>> 32).toInt

  /** Returns the int that identifies a key group in the exchange.
    *
    * The id is the int whose Spark hash (Murmur3, seed 42) is `group`. Group i then lies in
    * partition `i mod P` for every P. Plain group numbers would be distributed unevenly.
    */
  def idOf(group: Int): Int = {
    var x = group
    x ^= x >>> 16
    x *= inverse(0xc2b2ae35)
    x ^= (x >>> 13) ^ (x >>> 26)
    x *= inverse(0x85ebca6b)
    x ^= x >>> 16
    x ^= 4
    x = (x - 0xe6546b64) * inverse(5)
    x = Integer.rotateRight(x, 13)
    x ^= 42
    x *= inverse(0x1b873593)
    x = Integer.rotateRight(x, 15)
    x * inverse(0xcc9e2d51)
  }

  /** Returns the inverse of an odd number modulo 2^32, by Newton's iteration. */
  private def inverse(a: Int): Int = (1 to 5).foldLeft(a)((x, _) => x * (2 - a * x))
}
