package transom.engine.combine

import KeyTable.NoRecord

import transom.engine.state.{ByteRange, Segment, SessionBounds}
import transom.engine.window.Sessions

/** A hash table that aggregates rows into sessions on the map side.
  *
  * The records of a key form a list, and the latest session comes first. A row is compared with
  * the first few records only, since rows arrive nearly in order of time. A row that touches none
  * of them starts a new record. [[SessionTables]] merges the records of one session.
  *
  * @param gap
  *   inactivity that ends a session, in microseconds
  * @param inclusive
  *   whether rows exactly `gap` apart share a session (flink.md 6.1)
  * @param initial
  *   the accumulator of no rows
  * @param usage
  *   counts the bytes of the table
  */
final class SessionTable(gap: Long, inclusive: Boolean, initial: Array[Byte], usage: MemoryUsage)
    extends KeyTable(usage) {
  import SessionTable._

  private val fresh = new Array[Byte](HeaderSize) ++ initial
  private val freshNumbers = Segment.view(fresh)
  private val bounds = new SessionBounds

  /** Finds or creates the accumulator for a row.
    *
    * @param key
    *   the key of the row
    * @param time
    *   event time of the row, in microseconds
    * @return
    *   offset of the accumulator in `array`
    */
  def locate(key: ByteRange, time: Long): Int = {
    setFresh(time, NoRecord)
    val latest = find(key, fresh)
    val at = if (touches(latest, time)) latest else searchList(latest, time)
    if (time < numbers.getLong(at + First)) numbers.putLong(at + First, time)
    if (time > numbers.getLong(at + Last)) numbers.putLong(at + Last, time)
    at + HeaderSize
  }

  private def setFresh(time: Long, next: Int): Unit =
    freshNumbers.putInt(Next, next).putLong(First, time).putLong(Last, time)

  private def touches(at: Int, time: Long): Boolean =
    Sessions.reaches(numbers.getLong(at + Last) + gap, time, inclusive) &&
      Sessions.reaches(time + gap, numbers.getLong(at + First), inclusive)

  /** Finds or adds the record for a row that does not touch the latest record. Returns its
    * offset.
    */
  private def searchList(latest: Int, time: Long): Int = {
    val isLater = time > numbers.getLong(latest + Last)
    val second = numbers.getInt(latest + Next)
    var record = second
    var compared = 1
    while (record != NoRecord && compared < MostCompared && !touches(pointAt(record), time)) {
      record = numbers.getInt(pointAt(record) + Next)
      compared += 1
    }
    if (record == NoRecord || compared == MostCompared) record = addRecord(time, isLater, second)
    pointAt(record)
  }

  /** Adds a record for the current key: before the latest record if the row is later, else after
    * the latest record. Returns the position of the new record.
    */
  private def addRecord(time: Long, isLater: Boolean, second: Int): Int = {
    val latest = found
    setFresh(time, if (isLater) latest else second)
    val added = add(fresh)
    if (isLater) pointSlotAt(added)
    else {
      val at = pointAt(latest)
      numbers.putInt(at + Next, added)
    }
    added
  }

  override protected def write(at: Int, encode: ByteRange => ByteRange): Unit = {
    val hash = read(at)
    val header = pointAt(at)
    bounds.set(numbers.getLong(header + First), numbers.getLong(header + Last))
    accumulator.set(array, header + HeaderSize, accumulator.length - HeaderSize)
    writer.append(hash, key, bounds, encode(accumulator))
  }

  override protected def nextRecord(at: Int): Int = {
    val header = pointAt(at)
    numbers.getInt(header + Next)
  }
}

/** The header that precedes an accumulator in a [[SessionTable]]. */
private object SessionTable {
  // Offsets in the header: position of the next record of the key, time of the first row, time of
  // the last row.
  private final val Next = 0
  private final val First = 8
  private final val Last = 16
  private final val HeaderSize = 24

  /** Largest number of a key's records that a row is compared with. */
  private final val MostCompared = 4
}
