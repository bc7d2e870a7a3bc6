package transom.engine.state

import java.util.{Arrays, Comparator}

import transom.engine.window.Sessions

/** Iterates over the sessions in several runs, and merges adjacent records of a key.
  *
  * Sessions come in order of (hash, key), and the sessions of a key in order of time. Call `next`
  * first. `hash`, `key`, `first` and `last` describe the current session until the next call of
  * `next`. Not thread-safe.
  *
  * @param runs
  *   sorted runs of session records
  * @param gap
  *   inactivity that ends a session, in microseconds
  * @param inclusive
  *   whether records exactly `gap` apart share a session
  * @param firedUpTo
  *   records that end by this watermark are skipped
  * @param merger
  *   merges the accumulators of a session
  * @param only
  *   sorted hashes of the keys to return; all keys if absent
  */
private[engine] final class Chains[T](
    runs: Seq[Cursor],
    gap: Long,
    inclusive: Boolean,
    firedUpTo: Long,
    merger: AccumulatorMerger[T],
    only: Option[Array[Long]] = None) {
  import Chains.Record

  private val hashes = only.orNull
  private var nextHash = 0
  private val merge = new Merge(runs)
  private val bounds = new SessionBounds

  // The records of the current key, sorted by first time. The current session has the records in
  // [from, until).
  private var records = Array.fill(4)(new Record)
  private var count = 0
  private var from = 0
  private var until = 0

  var hash: Long = 0L
  val key = new ByteRange

  /** Times of the session's first and last row, in microseconds. */
  var first: Long = 0L
  var last: Long = 0L

  /** Moves to the next session; false if there is none. */
  def next(): Boolean = {
    while (until == count && readKey()) {}
    val isThere = until < count
    if (isThere) chain()
    isThere
  }

  /** Merges the records of the current session. The merger then holds the accumulator of the
    * session.
    */
  def mergeRecords(): Unit = {
    merger.start(records(from).accumulator)
    var i = from + 1
    while (i < until) {
      merger.merge(records(i).accumulator)
      i += 1
    }
  }

  /** Merges the current session's records that end by `upTo` into one record, and writes it.
    * Writes nothing if there is no such record.
    *
    * The written record ends with the session. With its own end it would count as closed.
    *
    * @param upTo
    *   records whose last row is later than this time are not written, in microseconds
    * @param to
    *   the writer, evaluated only if a record is written
    */
  def write(upTo: Long)(to: => RunWriter): Unit = {
    var least: Record = null
    var many = false
    var i = from
    while (i < until) {
      val record = records(i)
      if (record.last <= upTo) {
        if (least == null) least = record
        else {
          if (!many) merger.start(least.accumulator)
          many = true
          merger.merge(record.accumulator)
        }
      }
      i += 1
    }
    if (least != null) {
      val accumulator = if (many) merger.accumulator else least.accumulator
      to.append(hash, key, bounds.set(least.first, last), accumulator)
    }
  }

  private def chain(): Unit = {
    from = until
    first = records(from).first
    last = records(from).last
    until += 1
    while (until < count && reaches(records(until).first)) {
      last = math.max(last, records(until).last)
      until += 1
    }
  }

  private def reaches(time: Long): Boolean =
    Sessions.reaches(last + gap, time, inclusive)

  /** Reads the records of the next key; false at the end of the runs. All records of a key may be
    * skipped, so a key may have no sessions.
    */
  private def readKey(): Boolean = {
    count = 0
    until = 0
    if (hashes != null) skipOthers()
    var head = merge.head
    val isThere = head != null
    if (isThere) {
      hash = head.hash
      key.set(head.key)
      var isSorted = true
      while (head != null && head.hash == hash && head.key.contentEquals(key)) {
        if (SessionBounds.last(head) + gap > firedUpTo) isSorted &= append(head)
        merge.advance()
        head = merge.head
      }
      // Records with equal starts keep their order.
      if (!isSorted) Arrays.sort(records, 0, count, Chains.ByFirst)
    }
    isThere
  }

  /** Appends a record. Returns whether it starts after the records before it. */
  private def append(record: Cursor): Boolean = {
    if (count == records.length) {
      records = Arrays.copyOf(records, 2 * count)
      (count until records.length).foreach(records(_) = new Record)
    }
    val added = records(count).read(record)
    count += 1
    count == 1 || records(count - 2).first <= added.first
  }

  private def skipOthers(): Unit = {
    var head = merge.head
    while (head != null && !isSelected(head.hash)) {
      merge.advance()
      head = merge.head
    }
  }

  private def isSelected(hash: Long): Boolean = {
    while (nextHash < hashes.length && hashes(nextHash) < hash) nextHash += 1
    nextHash < hashes.length && hashes(nextHash) == hash
  }
}

/** Helpers of [[Chains]]. */
private object Chains {

  private val ByFirst: Comparator[Record] = Comparator.comparingLong[Record](_.first)

  /** A record of the current key. Instances are reused. */
  private final class Record {
    var first: Long = 0L
    var last: Long = 0L
    val accumulator = new ByteRange

    def read(record: Cursor): this.type = {
      first = SessionBounds.first(record)
      last = SessionBounds.last(record)
      val from = record.accumulator.offset + SessionBounds.Size
      accumulator.set(
        record.accumulator.bytes,
        from,
        record.accumulator.length - SessionBounds.Size)
      this
    }
  }
}
