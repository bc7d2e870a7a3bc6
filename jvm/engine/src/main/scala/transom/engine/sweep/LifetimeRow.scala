package transom.engine.sweep

import transom.engine.keyed.contract.RowCodec

/** A row with its lifetime `[start, end)`, in the engine's convention.
  *
  * @param end
  *   `RowContext.NoEnd` if the lifetime has no end
  * @param bytes
  *   an array that contains the encoded row and never changes
  */
private[sweep] sealed class LifetimeRow(
    val start: Long,
    val end: Long,
    val bytes: Array[Byte],
    val offset: Int,
    val length: Int) {

  /** The same row in the layout of this run.
    *
    * @param written
    *   the layout of its bytes
    */
  def from(written: Int, codec: RowCodec[_]): LifetimeRow =
    if (written == codec.layout) this
    else {
      val converted = codec.converted(written, bytes, offset, length)
      new LifetimeRow(start, end, converted, 0, converted.length)
    }

  /** The same row, which waits for the row with its end. */
  def opened: OpenRow = new OpenRow(start, end, bytes, offset, length)
}

private[sweep] object LifetimeRow {

  /** Estimated heap size of the objects of a row besides its bytes. */
  final val Weight = 80L
}

/** A row that waits for the row with its end.
  *
  * @param end
  *   when the row ends if its end has not come by then; `RowContext.NoEnd` if it waits for ever
  */
private[sweep] final class OpenRow(
    start: Long,
    end: Long,
    bytes: Array[Byte],
    offset: Int,
    length: Int)
    extends LifetimeRow(start, end, bytes, offset, length) {

  /** Position in [[OpenRows]]; `OpenRow.NoSlot` while the row is pending. Only `OpenRows` changes
    * it.
    */
  var slot: Int = OpenRow.NoSlot

  /** Identifies the row among pending rows. Set while the row is pending. */
  var number: Long = -1L

  /** The id and its hash. Set before the row is in an [[OpenIndex]]. */
  var id: Array[Byte] = _
  var hash: Int = 0

  /** The next row of the same chain of an [[OpenIndex]]. Only `OpenIndex` changes it. */
  var next: OpenRow = _

  /** The same row with a known end. */
  def ended(end: Long): LifetimeRow = new LifetimeRow(start, end, bytes, offset, length)
}

private[sweep] object OpenRow {
  final val NoSlot = -1

  /** Estimated heap size of the objects of a row and of its place, besides its bytes. */
  final val Weight = 300L
}
