package transom.engine.time

/** How far a watermark advances in a batch. The value is passed from where the watermark is found
  * to where windows fire. Each of the three watermarks is `Watermark.NotYet` until it is known.
  *
  * @param before
  *   the watermark before the batch. Its windows have fired, and rows of the batch are late by it
  *   unless each row has met a watermark of its own
  * @param after
  *   the watermark after the batch, by which windows fire
  * @param byRows
  *   the watermark after the batch as rows alone have moved it. The idle timeout may have moved
  *   `after` further
  */
final case class Advance(before: Long, after: Long, byRows: Long) {

  /** The later one of each of the three watermarks. */
  def max(other: Advance): Advance =
    Advance(
      math.max(before, other.before),
      math.max(after, other.after),
      math.max(byRows, other.byRows))

  /** The same watermarks in another convention. */
  def map(convert: Long => Long): Advance =
    Advance(convert(before), convert(after), convert(byRows))
}

/** Creates advances. */
object Advance {

  /** An advance of which nothing is known. */
  val Unknown: Advance = Advance(Watermark.NotYet, Watermark.NotYet, Watermark.NotYet)

  /** An advance from a watermark, of which nothing else is known. */
  def from(before: Long): Advance = Unknown.copy(before = before)

  /** An advance to a watermark that no idle timeout has moved. */
  def to(after: Long): Advance = Advance(Watermark.NotYet, after, after)
}
