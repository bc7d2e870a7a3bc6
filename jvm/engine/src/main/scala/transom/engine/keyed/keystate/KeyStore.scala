package transom.engine.keyed.keystate

import java.nio.ByteBuffer

import transom.engine.spec.WindowSpec
import transom.engine.state.{KeyGroupState, MemoryState, StateValue, UnknownStateVersion}
import transom.engine.window.Stagger

/** The keys in the state of a key group. Has only the variables that the operator needs. */
class KeyStore(state: KeyGroupState, spec: WindowSpec) {
  private val states = state.map("keys")
  private val rows = state.map("rows")

  /** The watermark timers. */
  val watermarkTimers: TimerStore = new TimerStore(state.value("group"), state.map("timers"))

  /** The wall-clock timers. */
  val clockTimers: TimerStore = {
    val used = if (spec.needsClock) state else new MemoryState
    new TimerStore(used.value("clock"), used.map("clock_timers"))
  }

  private val first =
    Option.when(spec.window.stagger == Stagger.Natural)(
      new StoredNumber(state.value("first_row")))
  private val open = Option.when(spec.hasEdges)(new StoredNumber(state.value("open_rows")))

  /** Wall-clock time in microseconds when the key group's first row arrived. Stored only for
    * windows with natural stagger.
    */
  def firstRow: Option[Long] = first.flatMap(_.get)
  def saveFirstRow(clock: Long): Unit = first.foreach(_.put(clock))

  /** Number of rows of all keys that wait for the row with their end. Stored only for specs with
    * edges.
    */
  def openRows: Long = open.flatMap(_.get).getOrElse(0L)
  def saveOpenRows(count: Long): Unit = open.foreach(_.put(count))

  /** State of a key, or null if there is none. */
  def get(key: Array[Byte]): Array[Byte] = states.get(key)
  def put(key: Array[Byte], state: Array[Byte]): Unit = states.put(key, state)
  def remove(key: Array[Byte]): Unit = states.remove(key)

  /** All keys that have state. Callers may put and remove keys during iteration. */
  def keys: Iterator[Array[Byte]] = states.keys

  /** Raw row of a key by list and position. Lists grow only at their end. */
  def getRow(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    rows.get(rowKey(key, list, sequence))
  def putRow(key: Array[Byte], list: Long, sequence: Long, row: Array[Byte]): Unit =
    rows.put(rowKey(key, list, sequence), row)
  def removeRow(key: Array[Byte], list: Long, sequence: Long): Unit =
    rows.remove(rowKey(key, list, sequence))

  private def rowKey(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    ByteBuffer.allocate(key.length + 16).put(key).putLong(list).putLong(sequence).array
}

/** A number in the state of a key group.
  *
  * {{{
  * version byte, number long
  * }}}
  */
private final class StoredNumber(value: StateValue) {
  import StoredNumber.Version

  def get: Option[Long] = Option(value.get).map { bytes =>
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version)
      throw new UnknownStateVersion("a number of a key group", version, Version)
    in.getLong()
  }

  def put(number: Long): Unit =
    value.put(ByteBuffer.allocate(9).put(Version).putLong(number).array)
}

private object StoredNumber {
  private val Version: Byte = 1
}
