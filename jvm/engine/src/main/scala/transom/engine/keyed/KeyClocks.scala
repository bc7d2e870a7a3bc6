package transom.engine.keyed

import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime.{DeadLetterReason, Event, RowCounts}
import transom.engine.policy.SourceClock
import transom.engine.time.Watermark

/** A key that a key group holds in memory. */
abstract class KeyInMemory(val key: Array[Byte]) {

  /** The clock of the key's substream, once `KeyClocks` has looked it up. */
  var clock: SourceClock = _
}

/** The watermarks of the keys of a key group, in one batch.
  *
  * With Spark's watermark and behind a time stage, all keys have the same watermark. With
  * substreams, the keys of each substream have a watermark of their own.
  *
  * Watermarks follow the engine's convention.
  */
trait KeyClocks {

  /** Judges a row before its windows receive it. Sets the time and the late watermark of the row.
    *
    * @param key
    *   the key of the row
    * @param counts
    *   receives what the rules have done
    * @return
    *   why the row is dropped; null if it is accepted
    */
  def judge(row: Event.Row, key: KeyInMemory, counts: RowCounts): DeadLetterReason

  /** Advances the watermark of the keys of a substream to a punctuation.
    *
    * @param row
    *   the punctuation. Only the columns of the substream in its key mean something.
    * @param counts
    *   receives the number of punctuations
    */
  def punctuate(row: Event.Row, counts: RowCounts): Unit

  /** Notes the latest arrival of rows of any key group, in microseconds since 1970. */
  def noteArrival(arrival: Long): Unit

  /** Lets the wall clock act. Called after all rows of a batch with a tick. */
  def tick(): Unit

  /** Whether a watermark of all keys can advance before the end of the input. */
  def hasCommon: Boolean

  /** A watermark that all keys have reached. */
  def common: Long

  /** The watermark of a key, or an earlier one if the key has no rows in this batch and no timer
    * that is due.
    */
  def of(key: KeyInMemory): Long

  /** The keys without rows whose timers are due by a watermark that not all keys have reached.
    * May contain further keys. Read once, after all rows.
    */
  def expired: Iterator[Array[Byte]]

  /** The keys that a punctuation has advanced, if `expired` does not find them. */
  def punctuated: Iterator[Array[Byte]]

  /** Notes the next timer of a key. */
  def noteTimer(timer: Long, key: Array[Byte]): Unit

  /** The largest watermark that keys have reached in this batch, in the host's convention; none
    * if the clocks do not compute it, or if there is none yet.
    */
  def reached: Option[Long]

  /** Writes the clocks to the store. */
  def save(): Unit
}

/** The clocks of keys that all have the watermark of the key group. Something before the operator
  * has judged the rows.
  */
object CommonClock extends KeyClocks {

  /** Opens the clocks of a key group. */
  val open: (KeyStore, Long) => KeyClocks = (_, _) => this

  override def judge(row: Event.Row, key: KeyInMemory, counts: RowCounts): DeadLetterReason = null
  override def punctuate(row: Event.Row, counts: RowCounts): Unit =
    throw new IllegalArgumentException("only windows over substreams take punctuation")
  override def noteArrival(arrival: Long): Unit =
    throw new IllegalArgumentException("only windows over substreams take arrivals")
  override def tick(): Unit = ()
  override def hasCommon: Boolean = true
  override def common: Long = Watermark.NotYet
  override def of(key: KeyInMemory): Long = Watermark.NotYet
  override def expired: Iterator[Array[Byte]] = Iterator.empty
  override def punctuated: Iterator[Array[Byte]] = Iterator.empty
  override def noteTimer(timer: Long, key: Array[Byte]): Unit = ()
  override def reached: Option[Long] = None
  override def save(): Unit = ()
}
