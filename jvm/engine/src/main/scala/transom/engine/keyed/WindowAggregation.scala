package transom.engine.keyed

import transom.engine.log.ByteRange

/** Folds the rows of a window into an accumulator, of which the engine knows nothing. An
  * accumulator may be changed in place; the engine goes on with what it is handed back.
  *
  * One instance serves one task.
  */
trait WindowAggregation[R, A <: AnyRef] {
  def create(): A
  def add(accumulator: A, row: R): A

  /** `other` came from another window and is not used again. */
  def merge(accumulator: A, other: A): A

  /** Valid until the next call; the accumulator is not used again. */
  def encode(accumulator: A): ByteRange

  def decode(bytes: Array[Byte], offset: Int, length: Int): A

  /** The accumulator's result as bytes, equal for equal results. Asked for only where results are
    * taken back: it tells whether a result has changed, and what the one before was.
    */
  def result(accumulator: A): Array[Byte]
}
