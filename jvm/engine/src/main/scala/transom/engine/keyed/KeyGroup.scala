package transom.engine.keyed

import java.util.LinkedHashMap

import transom.engine.GlobalGrid
import transom.engine.log.ByteRange

/** Is told whose contents and results come next. */
trait KeyListener {
  def pointAt(key: Array[Byte]): Unit
}

/** The keys of a key group at work. A key that rows or a due timer touch is read from the store
  * once and written once, but for what exceeds `maxHeld` bytes: that is written early, and read
  * again if it is touched again.
  *
  * One instance serves one batch.
  *
  * @param forgetsAtEnd
  *   whether keys without timers have to be found when the input ends
  */
final class KeyGroup[R, A <: AnyRef](
    operator: KeyedOperator[R, A],
    codec: StateCodec[A],
    store: KeyStore,
    listener: KeyListener,
    forgetsAtEnd: Boolean,
    maxHeld: Long = KeyGroup.MaxHeld) {

  import KeyGroup.Never

  private val held = new LinkedHashMap[KeyBytes, HeldKey[A]]
  private val watermarkTimers = new TimerIndex(store.watermarkTimers)
  private val clockTimers = new TimerIndex(store.clockTimers)
  private val lookupKey = new KeyBytes
  private var latest: HeldKey[A] = _
  private var takesRows = true
  private var bytes = 0L

  /** The watermark at which something is due, `Long.MaxValue` for never. */
  def nextTimer: Long = watermarkTimers.first

  /** Takes a row.
    *
    * @param weight
    *   how many bytes it may add to what its windows hold
    */
  def process(key: ByteRange, row: R, arrival: Arrival, weight: Int): Disposition = {
    if (bytes > maxHeld) flush()
    lookupKey.set(key.bytes, key.offset, key.length)
    val one = touch()
    val windows = one.state.size
    val disposition = operator.process(one.state, row, arrival)
    bytes += weight + KeyGroup.WindowWeight * (one.state.size - windows)
    disposition
  }

  /** Ends the micro-batch for the keys that had rows in it, then moves the time of all keys. A
    * step moves one, and has moved it when it is taken.
    *
    * @param lateWatermark
    *   the watermark that the rows met
    * @param hasTicked
    *   whether the clock is that of all keys; if not, it is that of the rows alone
    */
  def advance(
      lateWatermark: Long,
      watermark: Long,
      clock: Long,
      hasTicked: Boolean): Iterator[Unit] = {
    takesRows = false
    val withRows = held.values.toArray(Array.empty[HeldKey[A]]).iterator
    def expired = watermarkTimers.take(watermark).flatMap(load).tapEach(_.watermarkListed = Never)
    // When the input ends there is nothing more to wait for.
    val ticked =
      if (watermark >= GlobalGrid.EndOfTime) Never else if (hasTicked) clock else Long.MinValue
    def expiredByClock = clockTimers.take(ticked).flatMap(load).tapEach(_.clockListed = Never)
    def all = if (isEnd(watermark)) store.keys.flatMap(load) else Iterator.empty
    (withRows ++ expired ++ expiredByClock ++ all).map(move(_, lateWatermark, watermark, clock))
  }

  /** Writes what has changed. */
  def save(): Unit = {
    flush()
    watermarkTimers.save()
    clockTimers.save()
  }

  private def isEnd(watermark: Long): Boolean =
    forgetsAtEnd && watermark >= GlobalGrid.EndOfTime

  private def move(one: HeldKey[A], lateWatermark: Long, watermark: Long, clock: Long): Unit = {
    latest = null
    listener.pointAt(one.key)
    if (operator.seesBatches) {
      one.isChanged = true
      operator.endBatch(one.state, lateWatermark, clock)
    }
    val hasExpired = one.state.nextTimer <= watermark || one.state.nextClockTimer <= clock
    if (hasExpired || isEnd(watermark)) {
      one.isChanged = true
      operator.advance(one.state, watermark, clock)
    }
  }

  /** The sought key, for a row. */
  private def touch(): HeldKey[A] = {
    val found = held.get(lookupKey)
    val one = if (found != null) found else open(lookupKey.bytes)
    if (one ne latest) {
      latest = one
      one.isChanged = true
      listener.pointAt(one.key)
    }
    one
  }

  private def open(key: Array[Byte]): HeldKey[A] = hold(key, store.get(key))

  /** A key that is looked at because of its timers, unless it has gone. */
  private def load(key: Array[Byte]): Option[HeldKey[A]] = {
    if (bytes > maxHeld) flush()
    lookupKey.set(key, 0, key.length)
    Option(held.get(lookupKey)).orElse(Option(store.get(key)).map(hold(key, _)))
  }

  private def hold(key: Array[Byte], stateBytes: Array[Byte]): HeldKey[A] = {
    val isStored = stateBytes != null
    val state = if (isStored) codec.decode(stateBytes) else new KeyState[A]
    val one = new HeldKey(key, state, isStored)
    held.put(KeyBytes.of(key), one)
    bytes += key.length + KeyGroup.KeyWeight + KeyGroup.WindowWeight * state.size
    if (isStored) bytes += stateBytes.length
    one
  }

  private def flush(): Unit = {
    held.values.forEach(one => write(one))
    held.clear()
    latest = null
    bytes = 0L
  }

  private def write(one: HeldKey[A]): Unit =
    if (one.state.isEmpty) { if (one.isStored) store.remove(one.key) }
    else {
      if (one.isChanged) store.put(one.key, codec.encode(one.state))
      // A key that is written early waits for the end of its batch.
      val timer = if (takesRows && operator.seesBatches) Long.MinValue else one.state.nextTimer
      if (timer < one.watermarkListed) watermarkTimers.add(timer, one.key)
      if (one.state.nextClockTimer < one.clockListed)
        clockTimers.add(one.state.nextClockTimer, one.key)
      if (forgetsAtEnd) watermarkTimers.noteTimer(GlobalGrid.EndOfTime)
    }
}

object KeyGroup {
  final val MaxHeld = 64L << 20

  private final val Never = Long.MaxValue

  // What the objects of a key and of a window take up, beside the bytes of its state.
  private final val KeyWeight = 200L
  private final val WindowWeight = 200L
}

/** A key in memory.
  *
  * @param isStored
  *   whether the store has a state of it
  */
private final class HeldKey[A <: AnyRef](
    val key: Array[Byte],
    val state: KeyState[A],
    val isStored: Boolean) {

  /** When the timer indexes have it looked at: then, or before. */
  var watermarkListed: Long = state.nextTimer
  var clockListed: Long = state.nextClockTimer

  /** Whether the store's state is not the one at hand. */
  var isChanged: Boolean = false
}
