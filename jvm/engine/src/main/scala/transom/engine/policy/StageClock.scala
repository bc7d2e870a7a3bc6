package transom.engine.policy

import transom.engine.runtime.PartitionGauge
import transom.engine.state.ByteRange
import transom.engine.time.Advance

/** The clocks of a time stage, for one key group in one batch. */
trait StageClock {

  /** Judges a row, and advances the clock of its source.
    *
    * @param source
    *   key of the source; the bytes must not change later
    * @param time
    *   time of the row, microseconds since 1970
    * @param arrival
    *   arrival time of the row, microseconds since 1970
    * @param end
    *   end of the row's lifetime, microseconds since 1970; `Arrival.NoEnd` if it has none
    * @param stamp
    *   receives the decision
    */
  def judge(source: ByteRange, time: Long, arrival: Long, end: Long, stamp: Stamp): Unit

  /** Advances the clock of a source to a punctuation.
    *
    * @param source
    *   key of the source; the bytes must not change later
    * @param at
    *   the watermark that the punctuation sets, microseconds since 1970
    * @param arrival
    *   arrival time of the punctuation, microseconds since 1970
    * @param stamp
    *   receives the watermark that the punctuation met
    */
  def punctuate(source: ByteRange, at: Long, arrival: Long, stamp: Stamp): Unit

  /** Notes a row that no rule can judge. */
  def noteRow(): Unit

  /** Lets the wall clock act. Called after all rows of the batch.
    *
    * @return
    *   whether the idle timeout has moved the watermark
    */
  def tick(): Boolean

  /** How the watermark of the operators below advances in this batch; none if it does not. */
  def advance: Option[Advance]

  /** How many rows of the batch arrived before a row of an earlier batch, so that the order of
    * the partitions' rows depends on the batches.
    */
  def overtaken: Long = 0L

  /** The largest watermark that the clocks have reached, or `Watermark.NotYet`. */
  def watermark: Long

  /** The partitions of the input, if each has a clock of its own for all rows. */
  def partitions: Seq[PartitionGauge] = Nil

  /** Writes the clocks to the store. */
  def save(): Unit
}
