package transom.engine.state

import java.util.Arrays

/** A key in binary form, with equality by content, for use in hash maps.
  *
  * A lookup key may refer to a range of a larger array. A stored key must have an array that does
  * not change.
  */
private[engine] final class KeyBytes {
  private var array = Array.emptyByteArray
  private var offset = 0
  private var length = 0
  private var hash = 0

  def set(bytes: Array[Byte], offset: Int, length: Int): this.type = {
    array = bytes
    this.offset = offset
    this.length = length
    hash = if (length % 8 == 0) KeyGroups.hash(bytes, offset, length).toInt else hashOfBytes
    this
  }

  // Keys of Spark have whole words.
  private def hashOfBytes: Int = {
    var h = 1
    var i = offset
    while (i < offset + length) {
      h = 31 * h + array(i)
      i += 1
    }
    h
  }

  /** The bytes of the key; a copy if the key is a range of a larger array. */
  def bytes: Array[Byte] =
    if (offset == 0 && length == array.length) array
    else Arrays.copyOfRange(array, offset, offset + length)

  override def hashCode: Int = hash

  override def equals(other: Any): Boolean = other match {
    case key: KeyBytes =>
      hash == key.hash &&
      Arrays.equals(
        array,
        offset,
        offset + length,
        key.array,
        key.offset,
        key.offset + key.length)
    case _ => false
  }
}

private[engine] object KeyBytes {
  def of(bytes: Array[Byte]): KeyBytes = new KeyBytes().set(bytes, 0, bytes.length)
}
