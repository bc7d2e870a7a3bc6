package transom.engine.state

import java.util.{Arrays, HashMap}

import scala.jdk.CollectionConverters._

/** The state of a key group: variables of bytes, each with a name. A host provides it, in Spark's
  * state store or in memory.
  *
  * The engine decides which variables there are, and what their keys and values look like. So all
  * hosts write the same state, and no host knows its format. The classes that name variables are
  * [[SegmentEntries]] and the stores of the keyed layout, of the time stage and of substreams.
  *
  * Declare all variables before the first of them is read, and each one once. A host may select
  * another key group behind the same variables. Not thread-safe.
  */
trait KeyGroupState {

  /** Declares a variable with one value. */
  def value(name: String): StateValue

  /** Declares a variable with a value for each key. */
  def map(name: String): StateMap
}

/** A value in the state of a key group. Arrays must not change once they are stored. */
trait StateValue {

  /** The value, or null if there is none. */
  def get: Array[Byte]
  def put(value: Array[Byte]): Unit
  def remove(): Unit
}

/** Values by key in the state of a key group. Arrays must not change once they are stored. */
trait StateMap {

  /** The value of a key, or null if there is none. */
  def get(key: Array[Byte]): Array[Byte]
  def put(key: Array[Byte], value: Array[Byte]): Unit
  def remove(key: Array[Byte]): Unit

  /** All keys. Callers may put and remove keys during iteration. */
  def keys: Iterator[Array[Byte]]

  /** All keys and values. Keys of equal length come in the order of their unsigned bytes. Callers
    * may put and remove keys during iteration.
    */
  def entries: Iterator[(Array[Byte], Array[Byte])]
}

/** The state of a key group in memory, for a static DataFrame or a test. */
final class MemoryState extends KeyGroupState {
  private val values = new HashMap[String, MemoryValue]
  private val maps = new HashMap[String, MemoryMap]

  override def value(name: String): StateValue =
    values.computeIfAbsent(name, _ => new MemoryValue)
  override def map(name: String): StateMap = maps.computeIfAbsent(name, _ => new MemoryMap)
}

private final class MemoryValue extends StateValue {
  private var value: Array[Byte] = _

  override def get: Array[Byte] = value
  override def put(value: Array[Byte]): Unit = this.value = value
  override def remove(): Unit = value = null
}

private final class MemoryMap extends StateMap {
  private val values = new HashMap[KeyBytes, Array[Byte]]

  override def get(key: Array[Byte]): Array[Byte] = values.get(KeyBytes.of(key))
  override def put(key: Array[Byte], value: Array[Byte]): Unit =
    values.put(KeyBytes.of(key), value): Unit
  override def remove(key: Array[Byte]): Unit = values.remove(KeyBytes.of(key)): Unit

  override def keys: Iterator[Array[Byte]] =
    values.keySet.toArray(Array.empty[KeyBytes]).iterator.map(_.bytes)

  override def entries: Iterator[(Array[Byte], Array[Byte])] = {
    val sorted = values.asScala.iterator.map { case (key, value) => (key.bytes, value) }.toArray
    Arrays.sort(
      sorted,
      (a: (Array[Byte], _), b: (Array[Byte], _)) => Arrays.compareUnsigned(a._1, b._1))
    sorted.iterator
  }
}
