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
  * notes  version byte, number of the next entry long, first due long
  * entry  keys, each: length int, bytes
  * }}}
  */
private[keyed] final class DueList(store: DueStore) {
  private val added = new TreeMap[Long, ByteArrayOutputStream]
  private var number = 0L
  private var earliest = Long.MaxValue
  private val saved = store.notes
  if (saved != null) read(saved)

  /** When the first key is due, `Long.MaxValue` for never. */
  def first: Long = earliest

  def add(due: Long, key: Array[Byte]): Unit = {
    note(due)
    val keys = added.computeIfAbsent(due, _ => new ByteArrayOutputStream)
    keys.writeBytes(ByteBuffer.allocate(4).putInt(key.length).array)
    keys.writeBytes(key)
    if (keys.size > DueList.MaxEntry) {
      added.remove(due)
      put(due, keys)
    }
  }

  /** Something is due that no entry tells of. */
  def note(due: Long): Unit = earliest = math.min(earliest, due)

  /** Takes out the keys that are due, which the caller adds again if they are due later. */
  def take(until: Long): Iterator[Array[Byte]] =
    if (earliest > until) Iterator.empty
    else {
      flush()
      earliest = Long.MaxValue
      store.entries
        .takeWhile { entry =>
          if (entry.due > until) note(entry.due)
          entry.due <= until
        }
        .flatMap { entry =>
          store.remove(entry.due, entry.number)
          DueList.keysOf(entry.keys)
        }
    }

  /** Writes what was added. */
  def flush(): Unit = {
    added.forEach((due, keys) => put(due, keys))
    added.clear()
  }

  def save(): Unit = {
    flush()
    if (earliest == Long.MaxValue) { if (store.notes != null) store.removeNotes() }
    else {
      val notes = ByteBuffer.allocate(17).put(DueList.Version).putLong(number).putLong(earliest)
      if (!Arrays.equals(saved, notes.array)) store.saveNotes(notes.array)
    }
  }

  private def put(due: Long, keys: ByteArrayOutputStream): Unit = {
    store.put(due, number, keys.toByteArray)
    number += 1
  }

  private def read(notes: Array[Byte]): Unit = {
    val in = ByteBuffer.wrap(notes)
    val version = in.get()
    if (version != DueList.Version) throw new UnknownStateVersion(version)
    number = in.getLong()
    earliest = in.getLong()
  }
}

private[keyed] object DueList {
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
