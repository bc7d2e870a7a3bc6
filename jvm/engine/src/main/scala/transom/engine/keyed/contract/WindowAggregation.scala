package transom.engine.keyed.contract

import transom.engine.state.ByteRange

/** Aggregates the rows of a window into an accumulator whose type the engine does not know.
  *
  * Methods may change the accumulator in place. The engine continues with the returned
  * accumulator. One instance serves one task.
  */
trait WindowAggregation[R, A <: AnyRef] {
  def create(): A
  def add(accumulator: A, row: R): A

  /** The number of bytes by which a row may enlarge an accumulator. */
  def weightOf(row: R): Int

  /** Merges the accumulator of another window. The engine does not use `other` again. */
  def merge(accumulator: A, other: A): A

  /** Encodes an accumulator. The result is valid until the next call. The engine does not use the
    * accumulator again.
    */
  def encode(accumulator: A): ByteRange

  def decode(bytes: Array[Byte], offset: Int, length: Int): A

  /** Encodes the result of an accumulator; equal results have equal bytes. Called only if the
    * plan emits changes, to compare a result with the previous one and to retract it.
    */
  def result(accumulator: A): Array[Byte]
}
