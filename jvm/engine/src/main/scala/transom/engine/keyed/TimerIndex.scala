package transom.engine.keyed

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.util.{Arrays, TreeMap}

import scala.collection.AbstractIterator

/** Which keys of a key group have to be looked at when: what is due is found without reading a
  * key that is not. Keys that are due at one time share an entry if they were added together.
  *
  * Nothing is removed before its time has come: a key that was put off, or has gone, is looked at
  * in vain once.
  *
  * {{{
  * header  version byte, number of the next entry long, first due long
  * entry   keys, each: length int, bytes
  * }}}
  */
private[keyed] final class TimerIndex(store: TimerStore) {
  private val added = new TreeMap[Long, ByteArrayOutputStream]
  private var number = 0L
  private var earliest = Long.MaxValue
  private val saved = store.header
  if (saved != null) read(saved)

  /** When the first key is due, `Long.MaxValue` for never. */
  def first: Long = earliest

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

  /** Something is due that no entry tells of. */
  def noteTimer(timer: Long): Unit = earliest = math.min(earliest, timer)

  /** Takes out the keys that are due, which the caller adds again if they are due later. */
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

  /** Writes what was added. */
  def flush(): Unit = {
    added.forEach((timer, keys) => put(timer, keys))
    added.clear()
  }

  def save(): Unit = {
    flush()
    if (earliest == Long.MaxValue) { if (store.header != null) store.removeHeader() }
    else {
      val header =
        ByteBuffer.allocate(17).put(TimerIndex.Version).putLong(number).putLong(earliest)
      if (!Arrays.equals(saved, header.array)) store.saveHeader(header.array)
    }
  }

  private def put(timer: Long, keys: ByteArrayOutputStream): Unit = {
    store.put(timer, number, keys.toByteArray)
    number += 1
  }

  private def read(header: Array[Byte]): Unit = {
    val in = ByteBuffer.wrap(header)
    val version = in.get()
    if (version != TimerIndex.Version) throw new UnknownStateVersion(version)
    number = in.getLong()
    earliest = in.getLong()
  }
}

private[keyed] object TimerIndex {
  val Version: Byte = 1
  final val MaxEntry = 1 << 20

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
