package transom.engine

import java.nio.{ByteBuffer, ByteOrder}

/** Which key group a key belongs to. State is laid out by it, so none of this may ever change.
  *
  * The hash is pinned here and not borrowed: the state of a query outlives the library version
  * that wrote it.
  */
object KeyGroups {
  private final val C1 = 0x9e3779b185ebca87L
  private final val C2 = 0xc2b2ae3d27d4eb4fL
  private final val C3 = 0x165667b19e3779f9L

  /** 64 bits over the bytes `[offset, offset + length)`; `length` is a multiple of 8. */
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

  def hash(bytes: Array[Byte]): Long =
    hash(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN), 0, bytes.length)

  /** Group of a hash among `groups`: a range of hashes in signed order, so sorted keys lie group
    * by group.
    */
  def groupOf(hash: Long, groups: Int): Int =
    ((((hash ^ Long.MinValue) >>> 32) * groups) >>> 32).toInt

  /** The int that stands for group `i` in the exchange: the one whose Spark hash (Murmur3, seed
    * 42) is `i`. Group i then lies in partition `i mod P` for every P, where plain numbers clump.
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

  /** Inverse of an odd number modulo 2^32, by Newton's iteration. */
  private def inverse(a: Int): Int = (1 to 5).foldLeft(a)((x, _) => x * (2 - a * x))
}
