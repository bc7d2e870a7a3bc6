package transom.engine.judge

import java.nio.ByteBuffer
import java.util.{Arrays, HashMap}

import scala.collection.AbstractIterator

import transom.engine.state.{KeyBytes, StateMap, UnknownStateVersion}

/** Finds the keys of a substream whose timers are due, without reading the other keys. */
private[judge] trait SubstreamTimers {

  /** Adds a key that must be processed at time `timer`. */
  def add(substream: Array[Byte], timer: Long, key: Array[Byte]): Unit

  /** Removes and returns the keys of a substream that are due at `until`. The iterator is lazy.
    */
  def take(substream: Array[Byte], until: Long): Iterator[Array[Byte]]

  /** Whether a substream has timers later than `until`. Removes its other timers. */
  def isWaiting(substream: Array[Byte], until: Long): Boolean

  /** Writes the timers to the store. */
  def save(): Unit
}

/** The timers of substreams with one key each: none. Such a key has rows whenever the watermark
  * of its substream advances.
  */
private[judge] object NoTimers extends SubstreamTimers {
  override def add(substream: Array[Byte], timer: Long, key: Array[Byte]): Unit = ()
  override def take(substream: Array[Byte], until: Long): Iterator[Array[Byte]] = Iterator.empty
  override def isWaiting(substream: Array[Byte], until: Long): Boolean = false
  override def save(): Unit = ()
}

/** The timers of substreams with several keys: a binary heap for each substream, in the store.
  *
  * The state store of a key group has no order within a substream. In a heap, a timer costs a
  * number of reads and writes that grows with the logarithm of the number of timers.
  *
  * Entries are removed only when they are due. A key whose timer was postponed or removed is
  * therefore processed once without effect.
  *
  * {{{
  * position 0        version byte, number of entries int
  * position 1 and on timer long, key
  * }}}
  *
  * The key of an entry is the substream, then the position, an int.
  */
private[judge] final class TimerHeaps(store: StateMap) extends SubstreamTimers {
  private val heaps = new HashMap[KeyBytes, Heap]

  override def add(substream: Array[Byte], timer: Long, key: Array[Byte]): Unit =
    heapOf(substream).add(timer, key)

  override def take(substream: Array[Byte], until: Long): Iterator[Array[Byte]] =
    new AbstractIterator[Array[Byte]] {
      private val heap = heapOf(substream)
      override def hasNext: Boolean = heap.size > 0 && heap.first <= until
      override def next(): Array[Byte] = heap.removeFirst()
    }

  override def isWaiting(substream: Array[Byte], until: Long): Boolean = {
    val heap = heapOf(substream)
    while (heap.size > 0 && heap.first <= until) heap.removeFirst(): Unit
    heap.size > 0
  }

  override def save(): Unit = heaps.values.forEach(_.save())

  private def heapOf(substream: Array[Byte]): Heap =
    heaps.computeIfAbsent(KeyBytes.of(substream), _ => new Heap(substream))

  /** The heap of a substream. The parent of the entry at position `i` is at `i / 2`. */
  private final class Heap(substream: Array[Byte]) {
    private val saved = {
      val bytes = store.get(key(TimerHeaps.Size))
      if (bytes == null) 0 else TimerHeaps.sizeIn(bytes)
    }
    var size: Int = saved

    /** The earliest timer. */
    def first: Long = TimerHeaps.timerOf(entry(1))

    def add(timer: Long, due: Array[Byte]): Unit = {
      size += 1
      var at = size
      var isMoving = at > 1
      while (isMoving) {
        val parent = entry(at / 2)
        isMoving = TimerHeaps.timerOf(parent) > timer
        if (isMoving) {
          store.put(key(at), parent)
          at /= 2
          isMoving = at > 1
        }
      }
      store.put(key(at), ByteBuffer.allocate(8 + due.length).putLong(timer).put(due).array)
    }

    /** Removes the earliest timer, and returns its key. */
    def removeFirst(): Array[Byte] = {
      val removed = entry(1)
      val last = entry(size)
      store.remove(key(size))
      size -= 1
      if (size > 0) sink(last)
      Arrays.copyOfRange(removed, 8, removed.length)
    }

    /** Places an entry at the top, and moves it down until its children are later. */
    private def sink(moved: Array[Byte]): Unit = {
      val timer = TimerHeaps.timerOf(moved)
      var at = 1
      var isMoving = true
      while (isMoving && 2 * at <= size) {
        val left = entry(2 * at)
        val right = if (2 * at < size) entry(2 * at + 1) else null
        val isRight =
          right != null && TimerHeaps.timerOf(right) < TimerHeaps.timerOf(left)
        val child = if (isRight) right else left
        isMoving = TimerHeaps.timerOf(child) < timer
        if (isMoving) {
          store.put(key(at), child)
          at = if (isRight) 2 * at + 1 else 2 * at
        }
      }
      store.put(key(at), moved)
    }

    def save(): Unit =
      if (size == 0) { if (saved > 0) store.remove(key(TimerHeaps.Size)) }
      else if (size != saved)
        store.put(key(TimerHeaps.Size), TimerHeaps.bytesOf(size))

    private def entry(position: Int): Array[Byte] = store.get(key(position))

    private def key(position: Int): Array[Byte] =
      ByteBuffer.allocate(substream.length + 4).put(substream).putInt(position).array
  }
}

private object TimerHeaps {

  /** The position of the number of entries. */
  final val Size = 0

  private val Version: Byte = 1

  def bytesOf(size: Int): Array[Byte] = ByteBuffer.allocate(5).put(Version).putInt(size).array

  def sizeIn(bytes: Array[Byte]): Int = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version)
      throw new UnknownStateVersion("the timers of a substream", version, Version)
    in.getInt()
  }

  def timerOf(entry: Array[Byte]): Long = ByteBuffer.wrap(entry).getLong()
}
