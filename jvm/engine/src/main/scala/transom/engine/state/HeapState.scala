package transom.engine.state

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Arrays, Comparator, HashMap, HashSet, Map}

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

  /** A value on the heap; null if there is none. */
  private final class Cell(var value: Array[Byte]) {

    /** Whether the host has another value. */
    var isChanged: Boolean = false

    /** Whether the host has a value. Only maps that are whole know it. */
    var isStored: Boolean = false

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
        val read = new Cell(selected(below).get)
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

    override def get(key: Array[Byte]): Array[Byte] = cells.get(key)
    override def put(key: Array[Byte], value: Array[Byte]): Unit = cells.put(key, value)
    override def remove(key: Array[Byte]): Unit = cells.remove(key)

    override def keys: Iterator[Array[Byte]] = entries.map(_._1)

    override def entries: Iterator[(Array[Byte], Array[Byte])] = cells.all.collect {
      case (key, cell) if cell.value != null => (key.bytes, cell.value)
    }

    override def flush(): Unit = byGroup.forEach { (of, cells) =>
      select(of)
      cells.flush()
    }

    override def forget(): Unit = byGroup.clear()

    /** The values of a key group.
      *
      * Each firing reads the first timers, and removes them. If the map kept removed ones until
      * the end of the batch, each firing would pass all of them. So a map that is whole has no
      * cells without values.
      */
    private final class Cells {
      private var held: Map[KeyBytes, Cell] = new HashMap
      // Whether `held` has all values, in the order of their keys.
      private var isWhole = false
      // The removed keys that the host still has, if the map is whole.
      private val removed = new HashSet[KeyBytes]
      private val lookup = new KeyBytes

      def get(key: Array[Byte]): Array[Byte] = {
        val found = find(key)
        if (found != null) found.value
        else if (isWhole) null
        else add(key, selected(below).get(key)).value
      }

      def put(key: Array[Byte], value: Array[Byte]): Unit = {
        val found = find(key)
        (if (found != null) found else add(key, null)).set(value)
      }

      def remove(key: Array[Byte]): Unit =
        if (!isWhole) put(key, null)
        else {
          val found = held.remove(lookup.set(key, 0, key.length))
          if (found != null) {
            found.set(null)
            if (found.isStored) removed.add(KeyBytes.of(key))
            else grow(-HeapState.keyBytes(key))
          }
        }

      private def find(key: Array[Byte]): Cell = held.get(lookup.set(key, 0, key.length))

      private def add(key: Array[Byte], value: Array[Byte]): Cell = {
        val cell = new Cell(value)
        held.put(KeyBytes.of(key), cell)
        grow(HeapState.keyBytes(key) + cell.length)
        cell
      }

      /** All values in the order of their keys. They may change meanwhile. */
      def all: Iterator[(KeyBytes, Cell)] = {
        if (!isWhole) readAll()
        held.asScala.iterator
      }

      private def readAll(): Unit = {
        val before = held
        held = new ConcurrentSkipListMap[KeyBytes, Cell](HeapState.ByBytes)
        before.forEach { (key, cell) =>
          if (cell.value != null) held.put(key, cell) else grow(-HeapState.keyBytes(key.bytes))
        }
        selected(below).entries.foreach { case (key, value) =>
          val known = before.get(lookup.set(key, 0, key.length))
          if (known == null) add(key, value).isStored = true
          else if (known.value != null) known.isStored = true
          else {
            removed.add(KeyBytes.of(key))
            grow(HeapState.keyBytes(key))
          }
        }
        isWhole = true
      }

      def flush(): Unit = {
        // A key may have a value again, which is written afterwards.
        removed.forEach { key =>
          below.remove(key.bytes)
          grow(-HeapState.keyBytes(key.bytes))
        }
        removed.clear()
        val cells = held.entrySet.iterator
        while (cells.hasNext) {
          val entry = cells.next()
          val (key, cell) = (entry.getKey.bytes, entry.getValue)
          if (cell.isChanged) {
            if (cell.value == null) below.remove(key) else below.put(key, cell.value)
            cell.isChanged = false
            cell.isStored = true
          }
          // Otherwise removed keys would stay on the heap until the batch ends.
          if (cell.value == null) {
            grow(-HeapState.keyBytes(key))
            cells.remove()
          }
        }
      }
    }
  }
}

private object HeapState {

  // Estimated heap size of an entry or a value, without the bytes of the key and the value.
  private final val CellBytes = 120L

  /** The estimated heap size of a value of a map, without the bytes of the value. */
  private def keyBytes(key: Array[Byte]): Long = CellBytes + key.length

  private val ByBytes: Comparator[KeyBytes] = (a, b) => Arrays.compareUnsigned(a.bytes, b.bytes)
}
