package transom.engine.keyed

import java.util.{HashMap, TreeMap}

import scala.jdk.CollectionConverters._

/** Where the keys of one key group live: Spark's state, or memory. */
trait KeyStore {

  /** What is due at a watermark. */
  def watermarkTimers: TimerStore

  /** What is due by the wall clock. */
  def clockTimers: TimerStore

  /** What the wall clock showed when the key group's first row came; kept where windows are
    * staggered by it.
    */
  def firstRow: Option[Long]
  def saveFirstRow(clock: Long): Unit

  /** The state of a key, null if it has none. */
  def get(key: Array[Byte]): Array[Byte]
  def put(key: Array[Byte], state: Array[Byte]): Unit
  def remove(key: Array[Byte]): Unit

  /** All keys that have state. They may be put and removed meanwhile. */
  def keys: Iterator[Array[Byte]]

  /** A raw row of a key: lists that only grow at their end. */
  def getRow(key: Array[Byte], list: Long, sequence: Long): Array[Byte]
  def putRow(key: Array[Byte], list: Long, sequence: Long, row: Array[Byte]): Unit
  def removeRow(key: Array[Byte], list: Long, sequence: Long): Unit
}

/** Where a timer index lives. */
trait TimerStore {

  /** What the index keeps of itself, null if that is nothing. */
  def header: Array[Byte]
  def saveHeader(header: Array[Byte]): Unit
  def removeHeader(): Unit

  /** Keys to look at when `due` has come. A number tells entries of one time apart. */
  def put(timer: Long, number: Long, keys: Array[Byte]): Unit
  def remove(timer: Long, number: Long): Unit

  /** In the order of time. Entries may be put and removed meanwhile. */
  def entries: Iterator[TimerEntry]
}

/** An entry of a timer index. */
final case class TimerEntry(timer: Long, number: Long, keys: Array[Byte])

/** A store that lasts as long as one query over a static DataFrame, or one test. */
final class MemoryKeyStore extends KeyStore {
  private val states = new HashMap[KeyBytes, Array[Byte]]
  private val rows = new HashMap[(KeyBytes, Long, Long), Array[Byte]]

  override val watermarkTimers: MemoryTimerStore = new MemoryTimerStore
  override val clockTimers: MemoryTimerStore = new MemoryTimerStore

  private var first: Option[Long] = None
  override def firstRow: Option[Long] = first
  override def saveFirstRow(clock: Long): Unit = first = Some(clock)

  override def get(key: Array[Byte]): Array[Byte] = states.get(KeyBytes.of(key))
  override def put(key: Array[Byte], state: Array[Byte]): Unit =
    states.put(KeyBytes.of(key), state): Unit
  override def remove(key: Array[Byte]): Unit = states.remove(KeyBytes.of(key)): Unit
  override def keys: Iterator[Array[Byte]] =
    states.keySet.toArray(Array.empty[KeyBytes]).iterator.map(_.bytes)

  override def getRow(key: Array[Byte], list: Long, sequence: Long): Array[Byte] =
    rows.get((KeyBytes.of(key), list, sequence))
  override def putRow(key: Array[Byte], list: Long, sequence: Long, row: Array[Byte]): Unit =
    rows.put((KeyBytes.of(key), list, sequence), row): Unit
  override def removeRow(key: Array[Byte], list: Long, sequence: Long): Unit =
    rows.remove((KeyBytes.of(key), list, sequence)): Unit

  /** How many entries are held. */
  def size: Int = states.size + rows.size + watermarkTimers.size + clockTimers.size
}

/** A timer index that lasts no longer than that. */
final class MemoryTimerStore extends TimerStore {
  private val entriesByTime = new TreeMap[(Long, Long), Array[Byte]](Ordering[(Long, Long)])
  private var savedHeader: Array[Byte] = _

  override def header: Array[Byte] = savedHeader
  override def saveHeader(header: Array[Byte]): Unit = savedHeader = header
  override def removeHeader(): Unit = savedHeader = null

  override def put(timer: Long, number: Long, keys: Array[Byte]): Unit =
    entriesByTime.put((timer, number), keys): Unit
  override def remove(timer: Long, number: Long): Unit =
    entriesByTime.remove((timer, number)): Unit
  override def entries: Iterator[TimerEntry] = {
    val now = new TreeMap(entriesByTime)
    now.asScala.iterator.map { case ((timer, number), keys) => TimerEntry(timer, number, keys) }
  }

  def size: Int = entriesByTime.size + (if (savedHeader == null) 0 else 1)
}
