package transom.engine.state

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Arrays, Comparator, HashMap, Map}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

/** The state of the key groups of a task on the heap, over the state of a host.
  *
  * A value is read from the host once, and a changed value is written once, by `flush`. So a host
  * whose state is slow can run many small batches between two commits. Between them nothing is
  * written unless the values exceed `limit`: then `trim` writes all changes and forgets all
  * values, and the host reads them again when they are needed. Not thread-safe.
  *
  * @param host
  *   the state of the host, which is always that of the key group that `select` has chosen last
  * @param select
  *   makes a key group the current one of the host
  * @param limit
  *   how many bytes the heap may hold before `trim` forgets them
  */
final class HeapState(host: KeyGroupState, select: Int => Unit, limit: Long)
    extends KeyGroupState {
  private val variables = ArrayBuffer.empty[Variable]
  private var group = 0
  private var bytes = 0L

  /** How many bytes the heap holds. */
  def heldBytes: Long = bytes

  /** Makes a key group the current one. */
  def open(group: Int): Unit = this.group = group

  override def value(name: String): StateValue = added(new HeapValue(host.value(name)))

  override def map(name: String): StateMap = added(new HeapMap(host.map(name)))

  /** Writes all changes to the host. */
  def flush(): Unit = variables.foreach(_.flush())

  /** Writes all changes and forgets all values, if they exceed the limit. Not while an iterator
    * over the state is open.
    */
  def trim(): Unit = if (bytes > limit) {
    flush()
    variables.foreach(_.forget())
    bytes = 0L
  }

  private def added[V <: Variable](variable: V): V = {
    variables += variable
    variable
  }

  /** The state of the host for the current key group. */
  private def selected[V](state: V): V = {
    select(group)
    state
  }

  private def grow(by: Long): Unit = bytes += by

  /** A value on the heap; null if the host has none.
    *
    * @param isChanged
    *   whether the host has another value
    */
  private final class Cell(var value: Array[Byte], var isChanged: Boolean) {
    def length: Int = if (value == null) 0 else value.length

    def set(to: Array[Byte]): Unit = {
      grow(-length.toLong)
      value = to
      isChanged = true
      grow(length.toLong)
    }
  }

  private abstract class Variable {
    def flush(): Unit
    def forget(): Unit
  }

  private final class HeapValue(below: StateValue) extends Variable with StateValue {
    private val byGroup = new HashMap[Int, Cell]

    override def get: Array[Byte] = cell.value
    override def put(value: Array[Byte]): Unit = cell.set(value)
    override def remove(): Unit = cell.set(null)

    private def cell: Cell = {
      val held = byGroup.get(group)
      if (held != null) held
      else {
        val read = new Cell(selected(below).get, isChanged = false)
        byGroup.put(group, read)
        grow(HeapState.CellBytes + read.length)
        read
      }
    }

    override def flush(): Unit = byGroup.forEach { (of, cell) =>
      if (cell.isChanged) {
        select(of)
        if (cell.value == null) below.remove() else below.put(cell.value)
        cell.isChanged = false
      }
    }

    override def forget(): Unit = byGroup.clear()
  }

  private final class HeapMap(below: StateMap) extends Variable with StateMap {
    private val byGroup = new HashMap[Int, Cells]

    private def cells: Cells = byGroup.computeIfAbsent(group, _ => new Cells)

    override def get(key: Array[Byte]): Array[Byte] = cells.find(key, isRead = true).value
    override def put(key: Array[Byte], value: Array[Byte]): Unit =
      cells.find(key, isRead = false).set(value)
    override def remove(key: Array[Byte]): Unit = cells.find(key, isRead = false).set(null)

    override def keys: Iterator[Array[Byte]] = entries.map(_._1)

    override def entries: Iterator[(Array[Byte], Array[Byte])] = cells.all.collect {
      case (key, cell) if cell.value != null => (key.bytes, cell.value)
    }

    override def flush(): Unit = byGroup.forEach { (of, cells) =>
      select(of)
      cells.flush()
    }

    override def forget(): Unit = byGroup.clear()

    /** The values of a key group. */
    private final class Cells {
      private var held: Map[KeyBytes, Cell] = new HashMap
      // Whether `held` has all values of the host, in the order of their keys.
      private var isWhole = false
      private val lookup = new KeyBytes

      /** @param isRead
        *   whether the value itself is needed; if not, it is about to be replaced
        */
      def find(key: Array[Byte], isRead: Boolean): Cell = {
        val found = held.get(lookup.set(key, 0, key.length))
        if (found != null) found
        else {
          val value = if (isRead && !isWhole) selected(below).get(key) else null
          add(key, value)
        }
      }

      private def add(key: Array[Byte], value: Array[Byte]): Cell = {
        val cell = new Cell(value, isChanged = false)
        held.put(KeyBytes.of(key), cell)
        grow(HeapState.CellBytes + key.length + cell.length)
        cell
      }

      /** All values, which may change meanwhile. */
      def all: Iterator[(KeyBytes, Cell)] = {
        if (!isWhole) {
          val before = held
          held = new ConcurrentSkipListMap[KeyBytes, Cell](HeapState.ByBytes)
          held.putAll(before)
          selected(below).entries.foreach { case (key, value) =>
            if (!before.containsKey(lookup.set(key, 0, key.length))) add(key, value)
          }
          isWhole = true
        }
        held.asScala.iterator
      }

      def flush(): Unit = {
        val cells = held.entrySet.iterator
        while (cells.hasNext) {
          val entry = cells.next()
          val cell = entry.getValue
          if (cell.isChanged) {
            if (cell.value == null) below.remove(entry.getKey.bytes)
            else below.put(entry.getKey.bytes, cell.value)
            cell.isChanged = false
          }
          // Otherwise removed keys would stay on the heap until the batch ends.
          if (cell.value == null) {
            grow(-(HeapState.CellBytes + entry.getKey.bytes.length))
            cells.remove()
          }
        }
      }
    }
  }
}

private object HeapState {

  // Estimated heap size of a value in its map, without the bytes of the key and the value.
  private final val CellBytes = 120L

  private val ByBytes: Comparator[KeyBytes] = (a, b) => Arrays.compareUnsigned(a.bytes, b.bytes)
}
