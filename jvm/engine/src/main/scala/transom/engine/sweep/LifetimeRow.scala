package transom.engine.sweep

/** A row with its lifetime `[start, end)`, in the engine's convention.
  *
  * @param end
  *   `Arrival.NoEnd` if the lifetime has no end
  * @param bytes
  *   an array that contains the encoded row and never changes
  */
private[sweep] sealed class LifetimeRow(
    val start: Long,
    val end: Long,
    val bytes: Array[Byte],
    val offset: Int,
    val length: Int)

/** A row that waits for the row with its end.
  *
  * @param end
  *   when the row ends if its end has not come by then; `Arrival.NoEnd` if it waits for ever
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

  /** The same row with a known end. */
  def ended(end: Long): LifetimeRow = new LifetimeRow(start, end, bytes, offset, length)
}

private[sweep] object OpenRow {
  final val NoSlot = -1

  def of(row: LifetimeRow): OpenRow =
    new OpenRow(row.start, row.end, row.bytes, row.offset, row.length)
}
