package transom.engine.sweep

/** A row with its lifetime `[start, end)`, in the engine's convention.
  *
  * @param end
  *   `Arrival.NoEnd` if the lifetime has no end
  * @param bytes
  *   an array that contains the encoded row and never changes
  */
private[sweep] final class LifetimeRow(
    val start: Long,
    val end: Long,
    val bytes: Array[Byte],
    val offset: Int,
    val length: Int)
