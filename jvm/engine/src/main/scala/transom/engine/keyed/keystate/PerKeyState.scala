package transom.engine.keyed.keystate

/** State of one key. Its operator changes the state in place. Not thread-safe. */
trait PerKeyState {

  /** Lowest watermark at which the key must be advanced; `Long.MaxValue` if there is none. */
  def nextTimer: Long

  /** Lowest wall-clock time at which the key must be advanced; `Long.MaxValue` if there is none.
    */
  def nextClockTimer: Long

  /** Whether the key has no state to store. */
  def isEmpty: Boolean

  /** Estimated number of bytes that the state holds in memory, without accumulators of windows
    * and the bytes that the state was decoded from.
    */
  def heldBytes: Long

  /** Number of rows that wait for the row with their end. */
  def openRows: Int = 0
}

/** Encodes and decodes the states of keys. Holds a mutable buffer: create one codec per task.
  *
  * A state may keep parts in [[Entries]]. `encode` writes those that have changed. So point the
  * entries at the key before each call.
  */
trait PerKeyCodec[S <: PerKeyState] {

  /** Returns the state of a key that has none so far. */
  def create(): S

  def encode(state: S): Array[Byte]

  /** Removes the entries of a state that is removed. */
  def removeEntries(state: S): Unit = ()

  /** Decodes a state. The state refers to `bytes`, so the array must not change. */
  def decode(bytes: Array[Byte]): S
}
