package transom.engine.state

/** A key in binary form, with equality by content, for use in hash maps.
  *
  * A lookup key may refer to a range of a larger array. A stored key must have an array that does
  * not change.
  */
private[engine] final class KeyBytes {
  private val range = new ByteRange
  private var hash = 0

  def set(bytes: Array[Byte], offset: Int, length: Int): this.type = {
    range.set(bytes, offset, length)
    hash = if (length % 8 == 0) KeyGroups.hash(range).toInt else hashOfBytes
    this
  }

  // Keys of Spark have whole words.
  private def hashOfBytes: Int = {
    var h = 1
    var i = range.offset
    while (i < range.offset + range.length) {
      h = 31 * h + range.bytes(i)
      i += 1
    }
    h
  }

  /** The bytes of the key; a copy if the key is a range of a larger array. */
  def bytes: Array[Byte] =
    if (range.offset == 0 && range.length == range.bytes.length) range.bytes
    else range.copied

  override def hashCode: Int = hash

  override def equals(other: Any): Boolean = other match {
    case key: KeyBytes => hash == key.hash && range.contentEquals(key.range)
    case _ => false
  }
}

private[engine] object KeyBytes {
  def of(bytes: Array[Byte]): KeyBytes = new KeyBytes().set(bytes, 0, bytes.length)
}
