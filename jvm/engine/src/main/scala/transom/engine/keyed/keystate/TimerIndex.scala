package transom.engine.keyed.keystate

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.{Arrays, TreeMap}

import scala.collection.AbstractIterator

import transom.engine.state.{StateMap, StateValue, UnknownStateVersion}

/** Finds the keys of a key group whose timers are due, without reading the other keys.
  *
  * Keys that are added together with the same time share an entry.
  *
  * Entries are removed only when they are due. A key whose timer was postponed or removed is
  * therefore processed once without effect.
  *
  * {{{
  * header  version byte, number of the next entry long, lower bound of all timers long
  * entry   keys, each: length int, bytes
  * }}}
  */
private[keyed] final class TimerIndex(store: TimerStore) {
  private val added = new TreeMap[Long, ByteArrayOutputStream]
  private var number = 0L
  private var earliest = Long.MaxValue
  private val saved = store.header.get
  if (saved != null) read(saved)

  /** Lower bound of all timers; `Long.MaxValue` if there is none. */
  def first: Long = earliest

  /** Adds a key that must be processed at time `timer`. */
  def add(timer: Long, key: Array[Byte]): Unit = {
    noteTimer(timer)
    val keys = added.computeIfAbsent(timer, _ => new ByteArrayOutputStream)
    keys.writeBytes(ByteBuffer.allocate(4).putInt(key.length).array)
    keys.writeBytes(key)
    if (keys.size > TimerIndex.MaxEntry) {
      added.remove(timer)
      put(timer, keys)
    }
  }

  /** Lowers the bound `first` to a time that has no entry in the index. */
  def noteTimer(timer: Long): Unit = earliest = math.min(earliest, timer)

  /** Removes and returns the keys that are due at `until`.
    *
    * The caller adds a key again if the key has a later timer. The iterator is lazy: exhaust it
    * before reading `first` or calling `save`.
    */
  def take(until: Long): Iterator[Array[Byte]] =
    if (earliest > until) Iterator.empty
    else {
      flush()
      earliest = Long.MaxValue
      store.entries
        .takeWhile { entry =>
          if (entry.timer > until) noteTimer(entry.timer)
          entry.timer <= until
        }
        .flatMap { entry =>
          store.remove(entry.timer, entry.number)
          TimerIndex.keysOf(entry.keys)
        }
    }

  /** Writes added keys to the store, without the header. */
  def flush(): Unit = {
    added.forEach((timer, keys) => put(timer, keys))
    added.clear()
  }

  /** Writes added keys and the header to the store. */
  def save(): Unit = {
    flush()
    if (earliest == Long.MaxValue) { if (store.header.get != null) store.header.remove() }
    else {
      val header =
        ByteBuffer.allocate(17).put(TimerIndex.Version).putLong(number).putLong(earliest)
      if (!Arrays.equals(saved, header.array)) store.header.put(header.array)
    }
  }

  private def put(timer: Long, keys: ByteArrayOutputStream): Unit = {
    store.put(timer, number, keys.toByteArray)
    number += 1
  }

  private def read(header: Array[Byte]): Unit = {
    val in = ByteBuffer.wrap(header)
    val version = in.get()
    if (version != TimerIndex.Version)
      throw new UnknownStateVersion("the timers of a key group", version, TimerIndex.Version)
    number = in.getLong()
    earliest = in.getLong()
  }
}

/** Format of the timer index. */
private[keyed] object TimerIndex {
  val Version: Byte = 2

  /** Size in bytes above which an entry is written at once. */
  final val MaxEntry = 1 << 20

  /** Decodes the keys of an entry. */
  def keysOf(entry: Array[Byte]): Iterator[Array[Byte]] = new AbstractIterator[Array[Byte]] {
    private val in = ByteBuffer.wrap(entry)
    override def hasNext: Boolean = in.hasRemaining
    override def next(): Array[Byte] = {
      val key = new Array[Byte](in.getInt())
      in.get(key)
      key
    }
  }
}

/** The entries of a timer index, and its header.
  *
  * The key of an entry is the timer, then the number, both big endian. The sign bit of the timer
  * is flipped, so that keys sort like numbers.
  */
final class TimerStore(val header: StateValue, map: StateMap) {

  /** Adds an entry: the keys to process at time `timer`. The number distinguishes entries of the
    * same time.
    */
  def put(timer: Long, number: Long, keys: Array[Byte]): Unit = map.put(key(timer, number), keys)
  def remove(timer: Long, number: Long): Unit = map.remove(key(timer, number))

  /** Entries sorted by time. Callers may put and remove entries during iteration. */
  def entries: Iterator[TimerEntry] = map.entries.map { case (key, keys) =>
    val in = ByteBuffer.wrap(key)
    new TimerEntry(in.getLong() ^ Long.MinValue, in.getLong(), keys)
  }

  private def key(timer: Long, number: Long): Array[Byte] =
    ByteBuffer.allocate(16).putLong(timer ^ Long.MinValue).putLong(number).array
}

/** An entry of a timer index: keys whose timers are due at `timer`, in the index's encoding. */
final class TimerEntry(val timer: Long, val number: Long, val keys: Array[Byte])
