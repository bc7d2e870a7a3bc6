package transom.engine.log

import KeyTable.NoRecord

/** Sessions while rows are folded into them. Of a key the latest is found first, and those that
  * it had before hang behind. A row is held against the few in front, since rows come nearly in
  * the order of time. One that touches none of them begins a record of its own: whoever chains
  * the records sees whether they are one session.
  *
  * @param inclusive
  *   whether rows exactly `gap` apart share a session (flink.md 6.1)
  * @param initial
  *   an accumulator to which no row has come
  */
final class SessionTable(gap: Long, inclusive: Boolean, initial: Array[Byte], usage: MemoryUsage)
    extends KeyTable(usage) {
  import SessionTable._

  private val fresh = new Array[Byte](HeaderSize) ++ initial
  private val freshNumbers = Segment.view(fresh)
  private val bounds = new SessionBounds

  /** Where the accumulator lies to which a row goes. */
  def locate(key: ByteRange, time: Long): Int = {
    start(time, NoRecord)
    val latest = find(key, fresh)
    val at = if (touches(latest, time)) latest else further(latest, time)
    if (time < numbers.getLong(at + First)) numbers.putLong(at + First, time)
    if (time > numbers.getLong(at + Last)) numbers.putLong(at + Last, time)
    at + HeaderSize
  }

  private def start(time: Long, behind: Int): Unit =
    freshNumbers.putInt(Behind, behind).putLong(First, time).putLong(Last, time)

  private def touches(at: Int, time: Long): Boolean = {
    val away = math.max(numbers.getLong(at + First) - time, time - numbers.getLong(at + Last))
    if (inclusive) away <= gap else away < gap
  }

  /** Where the record lies that a row goes to which does not touch the latest. */
  private def further(latest: Int, time: Long): Int = {
    val isLater = time > numbers.getLong(latest + Last)
    val second = numbers.getInt(latest + Behind)
    var record = second
    var looks = 1
    while (record != NoRecord && looks < Looks && !touches(pointAt(record), time)) {
      record = numbers.getInt(pointAt(record) + Behind)
      looks += 1
    }
    if (record == NoRecord || looks == Looks) record = begin(time, isLater, second)
    pointAt(record)
  }

  /** Begins a record of the key at hand, in front of all that it has or behind the latest. */
  private def begin(time: Long, isLater: Boolean, second: Int): Int = {
    val latest = found
    start(time, if (isLater) latest else second)
    val begun = add(fresh)
    if (isLater) findBy(begun)
    else {
      val at = pointAt(latest)
      numbers.putInt(at + Behind, begun)
    }
    begun
  }

  override protected def write(at: Int, encode: ByteRange => ByteRange): Unit = {
    val hash = read(at)
    val header = pointAt(at)
    bounds.set(numbers.getLong(header + First), numbers.getLong(header + Last))
    accumulator.set(array, header + HeaderSize, accumulator.length - HeaderSize)
    writer.append(hash, key, bounds, encode(accumulator))
  }

  override protected def behind(at: Int): Int = {
    val header = pointAt(at)
    numbers.getInt(header + Behind)
  }
}

private object SessionTable {
  // In front of an accumulator: where the record behind this one lies, then the bounds.
  private final val Behind = 0
  private final val First = 8
  private final val Last = 16
  private final val HeaderSize = 24

  /** Records of a key that a row is held against, at most. */
  private final val Looks = 4
}
