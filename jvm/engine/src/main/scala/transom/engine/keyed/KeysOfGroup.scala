package transom.engine.keyed

import java.util.LinkedHashMap

import scala.collection.mutable

import transom.engine.judge.{CommonWatermark, KeyJudge, SourceWatermark}
import transom.engine.keyed.contract._
import transom.engine.keyed.keystate.{KeyStore, TimerIndex}
import transom.engine.runtime.Pulled
import transom.engine.state.{ByteRange, KeyBytes}
import transom.engine.time.{Advance, Timeline}
import transom.engine.window.RowContext

/** Processes the keys of one key group in one batch.
  *
  * The key group loads keys from the store, runs the operator on them and writes them back. A key
  * is read once and written once in a batch. If the keys in memory exceed `maxHeld` bytes, all of
  * them are written early. A key that is touched afterwards is read again.
  *
  * One instance serves one batch, in this order: `process` for all rows, `advance` to its end,
  * `save`. Not thread-safe.
  *
  * @param judge
  *   knows the watermarks of keys that are ahead of the key group
  * @param listener
  *   receives each key before the operator works on the key
  * @param forgetsAtEnd
  *   whether the end of the input must also reach keys without timers
  * @param maxHeld
  *   approximate number of bytes of state to hold in memory
  */
final class KeysOfGroup[R, S <: PerKeyState, T](
    operator: PerKeyOperator[R, S, T],
    codec: PerKeyCodec[S],
    store: KeyStore,
    judge: KeyJudge,
    listener: KeyListener,
    forgetsAtEnd: Boolean,
    maxHeld: Long) {

  import KeysOfGroup.Never

  private val held = new LinkedHashMap[KeyBytes, HeldKey[S]]
  private val watermarkTimers = new TimerIndex(store.watermarkTimers)
  private val clockTimers = new TimerIndex(store.clockTimers)
  private val lookupKey = new KeyBytes
  private var latest: HeldKey[S] = _
  private val latestKey = new ByteRange
  private var acceptsRows = true
  private var bytes = 0L
  // By how many bytes the keys in memory have grown since they were read.
  private var grown = 0L
  // By how many the open rows have become more.
  private var opened = 0L

  /** Earliest watermark at which a timer of the key group may be due; `Long.MaxValue` if there is
    * none.
    */
  def nextTimer: Long = watermarkTimers.first

  /** When the first and the last window of each touched key close, by their start. Complete after
    * `save`.
    */
  val closings: mutable.Map[Long, Long] = mutable.HashMap.empty

  /** Number of rows of all keys that wait for the row with their end. Complete after `save`. */
  def openRows: Long = store.openRows

  /** Makes the key of a row current, and advances it to the arrival of the row. */
  def reach(key: ByteRange, context: RowContext): Iterator[T] =
    operator.advance(find(key).state, context.reached, context.clock)

  /** Adds a row to the current key. Call `reach` first.
    *
    * @param weight
    *   maximum number of bytes that the row adds to the state of its key
    */
  def add(row: R, context: RowContext, weight: Int): Iterator[T] = {
    bytes += weight
    grown += weight
    operator.process(latest.state, row, context)
  }

  /** Ends the micro-batch and advances the keys to a watermark and a wall-clock time. A key whose
    * own watermark is later advances to its own watermark.
    *
    * Reaches keys with rows or punctuation in this batch, keys with due timers, and all keys at
    * the end of the input if `forgetsAtEnd`. The returned iterator works lazily, see
    * [[PerKeyOperator]]. Exhaust it before calling `save`. No rows may follow.
    *
    * @param to
    *   the watermarks of all keys; `before` is the one by which all rows of this batch are late,
    *   and `NotYet` if each row has its own
    * @param clock
    *   the wall-clock time in microseconds
    * @param hasTicked
    *   whether the due wall-clock timers of all keys run; if false, only the timers of keys that
    *   the batch reaches for another reason run
    */
  def advance(to: Advance, clock: Long, hasTicked: Boolean): Iterator[T] = {
    acceptsRows = false
    hasEnded = to.after >= Timeline.EndOfTime
    val withRows = held.values.toArray(Array.empty[HeldKey[S]]).iterator
    def expired = (watermarkTimers.take(to.after) ++ judge.expired)
      .flatMap(load)
      .tapEach(_.watermarkListed = Never)
    // At the end of the input no later tick comes, so all wall-clock timers are due.
    val ticked =
      if (hasEnded) Never else if (hasTicked) clock else Long.MinValue
    // The timer index still lists these keys. Keys in memory have been advanced before.
    def punctuated = judge.punctuated.filterNot(isHeld).flatMap(load)
    def expiredByClock = clockTimers.take(ticked).flatMap(load).tapEach(_.clockListed = Never)
    def all = if (isEnd(to.after)) store.keys.flatMap(load) else Iterator.empty
    (withRows ++ expired ++ punctuated ++ expiredByClock ++ all)
      .flatMap { key =>
        val ofKey = judge.watermarkOf(key.key, key.source)
        advanceKey(key, if (ofKey > to.byRows) to.max(Advance.to(ofKey)) else to, clock)
      }
  }

  /** Writes the changed keys and the timer indexes to the store. */
  def save(): Unit = {
    flush()
    // Keys that this batch has not loaded still wait for the end of the input.
    if (awaitedEnd && !hasEnded) watermarkTimers.noteTimer(Timeline.EndOfTime)
    watermarkTimers.save()
    clockTimers.save()
    if (opened != 0L) store.saveOpenRows(store.openRows + opened)
  }

  // Without a common watermark the timer index lists no keys.
  private val reachesAllAtEnd = forgetsAtEnd || !judge.hasCommon
  private val awaitedEnd = reachesAllAtEnd && watermarkTimers.first != Never
  private var hasEnded = false

  private def isEnd(watermark: Long): Boolean =
    reachesAllAtEnd && watermark >= Timeline.EndOfTime

  private def advanceKey(entry: HeldKey[S], to: Advance, clock: Long): Iterator[T] = {
    latest = null
    listener.pointAt(entry.key)
    val ended =
      if (operator.seesBatches) {
        entry.isChanged = true
        operator.endBatch(entry.state, to.before, clock)
      } else Pulled.none
    Pulled.andThen(ended) {
      val hasExpired =
        entry.state.nextTimer <= to.after || entry.state.nextClockTimer <= clock
      if (hasExpired || isEnd(to.after)) {
        entry.isChanged = true
        operator.advance(entry.state, to.after, clock, to.byRows)
      } else Pulled.none
    }
  }

  /** Finds the key of a row, or reads it from the store, and makes it current. */
  def find(key: ByteRange): HeldKey[S] = {
    if (latest != null) count(latest)
    // A single key whose state alone is too large must not be read for each of its rows.
    if (bytes > maxHeld && (held.size > 1 || grown > maxHeld)) flush()
    if (latest == null || !latestKey.contentEquals(key)) {
      lookupKey.set(key.bytes, key.offset, key.length)
      val found = held.get(lookupKey)
      latest = if (found != null) found else open(lookupKey.bytes)
      latestKey.set(latest.key, 0, latest.key.length)
      latest.isChanged = true
      listener.pointAt(latest.key)
    }
    latest
  }

  /** Counts the bytes by which a state has grown since the last call. */
  private def count(entry: HeldKey[S]): Unit = {
    val held = entry.state.heldBytes
    bytes += held - entry.counted
    grown += held - entry.counted
    entry.counted = held
  }

  private def isHeld(key: Array[Byte]): Boolean =
    held.containsKey(lookupKey.set(key, 0, key.length))

  private def open(key: Array[Byte]): HeldKey[S] = hold(key, store.get(key))

  /** Loads a key to run its timers; `None` if the key has no state any more. */
  private def load(key: Array[Byte]): Option[HeldKey[S]] = {
    if (bytes > maxHeld) flush()
    lookupKey.set(key, 0, key.length)
    Option(held.get(lookupKey)).orElse(Option(store.get(key)).map(hold(key, _)))
  }

  private def hold(key: Array[Byte], stateBytes: Array[Byte]): HeldKey[S] = {
    val isStored = stateBytes != null
    // Parts of the state may be in entries of the key.
    if (isStored) listener.pointAt(key)
    val state = if (isStored) codec.decode(stateBytes) else codec.create()
    val entry = new HeldKey(key, state, isStored)
    held.put(KeyBytes.of(key), entry)
    bytes += key.length + KeysOfGroup.KeyWeight + entry.counted
    if (isStored) bytes += stateBytes.length
    entry
  }

  private def flush(): Unit = {
    held.values.forEach(entry => write(entry))
    held.clear()
    latest = null
    bytes = 0L
    grown = 0L
  }

  private def write(entry: HeldKey[S]): Unit = {
    opened += entry.state.openRows - entry.openBefore
    if (entry.state.isEmpty) {
      if (entry.isStored) {
        listener.pointAt(entry.key)
        codec.removeEntries(entry.state)
        store.remove(entry.key)
      }
    } else {
      operator.noteOpen(entry.state, closings)
      if (entry.isChanged) {
        listener.pointAt(entry.key)
        store.put(entry.key, codec.encode(entry.state))
      }
      // A key that is written in the middle of a batch must be loaded again at the end, if it has
      // to see the end of the batch or has a watermark of its own. So the timer index lists the
      // key before all watermarks.
      val awaitsEnd = acceptsRows && (operator.seesBatches || (judge ne CommonWatermark))
      val timer = if (awaitsEnd) Long.MinValue else entry.state.nextTimer
      if (timer < entry.watermarkListed) {
        // A timer that the common watermark never reaches would stay in the index for ever.
        if (awaitsEnd || judge.hasCommon) watermarkTimers.add(timer, entry.key)
        judge.noteTimer(timer, entry.key)
      }
      if (entry.state.nextClockTimer < entry.clockListed)
        clockTimers.add(entry.state.nextClockTimer, entry.key)
      if (reachesAllAtEnd) watermarkTimers.noteTimer(Timeline.EndOfTime)
    }
  }
}

/** Constants of [[KeysOfGroup]]. */
private object KeysOfGroup {
  private final val Never = Long.MaxValue

  // Estimated heap size in bytes of the objects of a key, without its state.
  private final val KeyWeight = 200L
}

/** A key in memory.
  *
  * @param isStored
  *   whether the store has an entry for the key
  */
private[keyed] final class HeldKey[S <: PerKeyState](
    val key: Array[Byte],
    val state: S,
    val isStored: Boolean) {

  /** The source of the key's rows, once the judge has looked it up. */
  var source: SourceWatermark = _

  /** Number of open rows that the key group has counted for the key. */
  val openBefore: Int = state.openRows

  /** Times at which the two timer indexes list the key. An index may also hold an earlier time.
    */
  var watermarkListed: Long = state.nextTimer
  var clockListed: Long = state.nextClockTimer

  /** Number of bytes of the state that the memory limit has counted. */
  var counted: Long = state.heldBytes

  /** Whether the state in memory may differ from the store. */
  var isChanged: Boolean = false
}
