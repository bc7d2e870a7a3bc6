package transom.engine.judge

import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime.{GroupInput, PartitionGauge}
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Watermark}

/** Judges the rows of one key group in one batch, in their order: which time is in force, which
  * watermark the row met, and what becomes of the row.
  *
  * A judge knows the watermarks that its rows move. Times and watermarks are microseconds since
  * 1970, in the host's convention.
  */
trait Judge {

  /** The state of a source: of an input partition, of a substream, or of the whole input. */
  type Source

  /** The source of a row. Valid for the whole batch.
    *
    * @param key
    *   key of the row; the bytes must not change later
    */
  def sourceOf(key: ByteRange): Source

  /** Judges a row, and advances the watermark of its source.
    *
    * @param row
    *   the row with its arrival
    * @param to
    *   receives the judgement
    */
  def judge(source: Source, row: GroupInput.Row, to: Judgement): Unit

  /** Advances the watermark of a source to a punctuation.
    *
    * @param row
    *   its time is the watermark that the punctuation sets
    * @param to
    *   receives the watermark that the punctuation met
    */
  def punctuate(source: Source, row: GroupInput.Row, to: Judgement): Unit

  /** Notes a row that no rule can judge. */
  def noteRow(): Unit = ()

  /** Lets the wall clock act. Called after all rows of a batch with a tick.
    *
    * @return
    *   whether the idle timeout has moved the watermark
    */
  def tick(): Boolean = false

  /** How the watermark advances that all rows share. `after` is `NotYet` while the batch does not
    * move this watermark, and all three are if rows share none.
    */
  def advance: Advance = Advance.Unknown

  /** The largest watermark that a source has reached in this batch, or `Watermark.NotYet`. */
  def watermark: Long

  /** How many rows of the batch arrived before a row of an earlier batch, so that the order of
    * the partitions' rows depends on the batches.
    */
  def overtaken: Long = 0L

  /** The partitions of the input, if each has a watermark of its own for all rows. */
  def partitions: Seq[PartitionGauge] = Nil

  /** Writes the state to the store. */
  def save(): Unit
}

/** A judge of rows right before their windows receive them. So the judge also sets the time and
  * the late watermark of a row, in the engine's convention, and tells which keys are due.
  *
  * Without substreams, all keys have the watermark of the key group. With substreams, the keys of
  * each substream have a watermark of their own.
  */
trait KeyJudge extends Judge {
  override type Source = SourceWatermark

  /** Notes the latest arrival of rows of any key group. */
  def noteArrival(arrival: Long): Unit

  /** Whether a watermark that all keys share can advance before the end of the input. */
  def hasCommon: Boolean

  /** The watermark of a key, in the engine's convention. `NotYet` if no row of this batch is from
    * the source of the key. Only the watermark that all rows share then moves the key.
    *
    * @param source
    *   the source of the key; null if no row of the key has been judged
    */
  def watermarkOf(key: Array[Byte], source: SourceWatermark): Long

  /** The keys without rows whose timers are due by a watermark that not all keys have reached.
    * May contain further keys. Read once, after all rows.
    */
  def expired: Iterator[Array[Byte]]

  /** The keys that a punctuation has advanced, if `expired` does not find them. */
  def punctuated: Iterator[Array[Byte]]

  /** Notes the next timer of a key. */
  def noteTimer(timer: Long, key: Array[Byte]): Unit
}

/** The judge of keys that all have the watermark of the key group. Spark's watermark or a time
  * stage has judged the rows before they came.
  */
object CommonWatermark extends KeyJudge {

  /** Opens the judge of a key group. */
  val open: (KeyStore, Long) => KeyJudge = (_, _) => this

  override def sourceOf(key: ByteRange): SourceWatermark = null
  override def judge(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit = ()
  override def punctuate(source: SourceWatermark, row: GroupInput.Row, to: Judgement): Unit =
    throw new IllegalArgumentException("only windows over substreams take punctuation")
  override def noteArrival(arrival: Long): Unit =
    throw new IllegalArgumentException("only windows over substreams take arrivals")
  override def watermark: Long = Watermark.NotYet
  override def hasCommon: Boolean = true
  override def watermarkOf(key: Array[Byte], source: SourceWatermark): Long = Watermark.NotYet
  override def expired: Iterator[Array[Byte]] = Iterator.empty
  override def punctuated: Iterator[Array[Byte]] = Iterator.empty
  override def noteTimer(timer: Long, key: Array[Byte]): Unit = ()
  override def save(): Unit = ()
}
