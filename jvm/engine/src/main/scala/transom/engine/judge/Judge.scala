package transom.engine.judge

import transom.engine.keyed.keystate.KeyStore
import transom.engine.runtime.{DeadLetterReason, GroupInput, PartitionGauge, RowCount, RowCounts}
import transom.engine.state.ByteRange
import transom.engine.time.{Advance, Watermark}
import transom.engine.window.RowContext

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

/** What becomes of a row by its time policy. One mutable instance is reused for all rows. Only a
  * judge and `read` change it.
  *
  * Times are microseconds since 1970.
  */
final class Judgement {

  /** The time in force: the row's own time, or the time to which a rule has moved the row.
    * `RowContext.NoTime` if the row is dropped.
    */
  var time: Long = RowContext.NoTime

  /** The watermark of the row's source that the row met, or `Watermark.NotYet`. */
  var watermark: Long = Watermark.NotYet

  /** The rules that the row broke. */
  var broken: PolicyRules = PolicyRules.None

  /** Whether a rule has moved the row. */
  var isAdjusted: Boolean = false

  /** Why the row is dropped, or null. If no rule is broken, no rule could judge the row. */
  var dropped: DeadLetterReason = _

  /** Whether the row is punctuation. Its `time` is the watermark that it sets. */
  var isPunctuation: Boolean = false

  private[judge] def start(met: Long): Unit = {
    time = RowContext.NoTime
    watermark = met
    broken = PolicyRules.None
    isAdjusted = false
    dropped = null
    isPunctuation = false
  }

  private[judge] def drop(reason: DeadLetterReason): Unit = {
    time = RowContext.NoTime
    dropped = reason
  }

  /** Makes the row meet a watermark of others too, if it is ahead of that of its source. */
  private[judge] def meet(watermark: Long): Unit =
    this.watermark = math.max(this.watermark, watermark)

  private[judge] def punctuate(at: Long): Unit = {
    time = at
    isPunctuation = true
  }

  /** Makes this the judgement on a row that no rule can judge. */
  def refuse(reason: DeadLetterReason): Unit = {
    start(Watermark.NotYet)
    drop(reason)
  }

  /** Counts the judgement. */
  def count(counts: RowCounts): Unit =
    if (isPunctuation) counts.add(RowCounts.Punctuation)
    else if (!broken.isEmpty || dropped != null) {
      PolicyRule.all.foreach(rule => if (broken.contains(rule)) counts.add(rule.count))
      if (dropped != null) counts.add(dropped.count)
      else if (isAdjusted) counts.add(RowCounts.Adjusted)
    }

  /** The judgement without its times as a number, [[Judgement.Plain]] for most rows: the rules
    * that the row broke, a bit for an adjusted time, a bit for punctuation, and the position of
    * the reason plus 1.
    */
  def code: Long = {
    val reason = if (dropped == null) 0L else DeadLetterReason.all.indexOf(dropped) + 1L
    broken.bits | (if (isAdjusted) Judgement.Adjusted else 0L) |
      (if (isPunctuation) Judgement.Punctuation else 0L) | reason << Judgement.ReasonShift
  }

  /** Reads a judgement from its times and its code. The time of a dropped row is ignored. */
  def read(time: Long, watermark: Long, code: Long): Unit = {
    start(watermark)
    if (code == Judgement.Plain) this.time = time
    else {
      broken = new PolicyRules((code & Judgement.Rules).toInt)
      isAdjusted = (code & Judgement.Adjusted) != 0
      isPunctuation = (code & Judgement.Punctuation) != 0
      val reason = (code >>> Judgement.ReasonShift).toInt
      if (reason != 0) dropped = DeadLetterReason.all(reason - 1) else this.time = time
    }
  }
}

/** The codes of judgements. */
object Judgement {

  /** An accepted row that broke no rule. */
  final val Plain = 0L

  private final val Rules = 0xffL
  private final val Adjusted = 0x100L
  private final val Punctuation = 0x200L
  private final val ReasonShift = 10
}

/** A rule of a time policy.
  *
  * @param reason
  *   why a row is dropped that breaks the rule
  * @param count
  *   the count of rows that break the rule
  */
sealed abstract class PolicyRule(val reason: DeadLetterReason, val count: RowCount) {

  /** The name that users see. */
  def name: String = reason.name

  private[judge] lazy val bit: Int = 1 << PolicyRule.all.indexOf(this)

  override def toString: String = name
}

/** The values of [[PolicyRule]]. */
object PolicyRule {
  case object Early extends PolicyRule(DeadLetterReason.Early, RowCounts.Early)
  case object LateArrival extends PolicyRule(DeadLetterReason.LateArrival, RowCounts.LateArrival)
  case object OutOfOrder extends PolicyRule(DeadLetterReason.OutOfOrder, RowCounts.OutOfOrder)

  /** All rules, in the order in which they are applied. */
  val all: IndexedSeq[PolicyRule] = IndexedSeq(Early, LateArrival, OutOfOrder)
}

/** A set of rules.
  *
  * @param bits
  *   a bit for each rule, by its position in `PolicyRule.all`
  */
final class PolicyRules(val bits: Int) extends AnyVal {
  def isEmpty: Boolean = bits == 0

  def contains(rule: PolicyRule): Boolean = (bits & rule.bit) != 0

  def +(rule: PolicyRule): PolicyRules = new PolicyRules(bits | rule.bit)

  /** The rules in the order in which they are applied. */
  def toSeq: IndexedSeq[PolicyRule] = PolicyRule.all.filter(contains)

  override def toString: String = toSeq.mkString("PolicyRules(", ", ", ")")
}

object PolicyRules {

  val None: PolicyRules = new PolicyRules(0)

  def apply(rules: PolicyRule*): PolicyRules = rules.foldLeft(None)(_ + _)
}
