package transom.engine.keyed.state

import java.util.{HashMap, TreeMap}

import scala.jdk.CollectionConverters._

import transom.engine.state.KeyBytes

/** Store of the keys of one key group: Spark's state store, or memory. */
trait KeyStore {

  /** Store of the watermark timers. */
  def watermarkTimers: TimerStore

  /** Store of the wall-clock timers. */
  def clockTimers: TimerStore

  /** Wall-clock time in microseconds when the key group's first row arrived. Stored only for
    * windows with natural stagger.
    */
  def firstRow: Option[Long]
  def saveFirstRow(clock: Long): Unit

  /** Number of rows of all keys that wait for the row with their end. Stored only for specs with
    * edges.
    */
  def openRows: Long
  def saveOpenRows(count: Long): Unit

  /** State of a key, or null if there is none. */
  def get(key: Array[Byte]): Array[Byte]
  def put(key: Array[Byte], state: Array[Byte]): Unit
  def remove(key: Array[Byte]): Unit

  /** All keys that have state. Callers may put and remove keys during iteration. */
  def keys: Iterator[Array[Byte]]

  /** Raw row of a key by list and position. Lists grow only at their end. */
  def getRow(key: Array[Byte], list: Long, sequence: Long): Array[Byte]
  def putRow(key: Array[Byte], list: Long, sequence: Long, row: Array[Byte]): Unit
  def removeRow(key: Array[Byte], list: Long, sequence: Long): Unit
}

/** Store of one timer index. */
trait TimerStore {

  /** Header of the index, or null if there is none. */
  def header: Array[Byte]
  def saveHeader(header: Array[Byte]): Unit
  def removeHeader(): Unit

  /** Adds an entry: the keys to process at time `timer`. The number distinguishes entries of the
    * same time.
    */
  def put(timer: Long, number: Long, keys: Array[Byte]): Unit
  def remove(timer: Long, number: Long): Unit

  /** Entries sorted by time. Callers may put and remove entries during iteration. */
  def entries: Iterator[TimerEntry]
}

/** An entry of a timer index: keys whose timers are due at `timer`, in the index's encoding. */
final class TimerEntry(val timer: Long, val number: Long, val keys: Array[Byte])

/** A key store in memory, for a query over a static DataFrame or a test. */
class MemoryKeyStore extends KeyStore {
  private val states = new HashMap[KeyBytes, Array[Byte]]
  private val rows = new HashMap[(KeyBytes, Long, Long), Array[Byte]]

  override val watermarkTimers: MemoryTimerStore = new MemoryTimerStore
  override val clockTimers: MemoryTimerStore = new MemoryTimerStore

  private var first: Option[Long] = None
  override def firstRow: Option[Long] = first
  override def saveFirstRow(clock: Long): Unit = first = Some(clock)

  private var open = 0L
  override def openRows: Long = open
  override def saveOpenRows(count: Long): Unit = open = count

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

  /** Number of raw rows held. */
  def rowCount: Int = rows.size

  /** Number of entries held. */
  def size: Int = states.size + rows.size + watermarkTimers.size + clockTimers.size
}

/** A timer store in memory, for `MemoryKeyStore`. */
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
    now.asScala.iterator.map { case ((timer, number), keys) =>
      new TimerEntry(timer, number, keys)
    }
  }

  def size: Int = entriesByTime.size + (if (savedHeader == null) 0 else 1)
}
