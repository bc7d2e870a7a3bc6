package transom.engine.state

/** Merges sorted runs into one sequence of records, in order of (hash, key).
  *
  * Records with equal keys come in the order of the runs, which is the order in which the runs
  * were written. The cursors must not have been advanced. Not thread-safe.
  *
  * @param runs
  *   one cursor per run
  */
final class Merge(runs: Seq[Cursor]) {
  // A binary heap of cursors, with the index of each run in `ranks`. Arrays and loops are worth
  // their length here: every record of every firing passes through (benchmarks/jmh,
  // SliceLogBenchmark).
  private val heap = new Array[Cursor](runs.length)
  private val ranks = new Array[Int](runs.length)
  private var size = 0

  enter(runs.iterator)

  private def enter(cursors: Iterator[Cursor]): Unit = {
    var rank = 0
    cursors.foreach { cursor =>
      if (cursor.advance()) {
        heap(size) = cursor
        ranks(size) = rank
        size += 1
        siftUp(size - 1)
      }
      rank += 1
    }
  }

  /** The cursor at the smallest record; null at the end. Valid until `advance`. */
  def head: Cursor = if (size == 0) null else heap(0)

  /** Moves to the next record. Call only if `head` is not null. */
  def advance(): Unit = {
    if (!heap(0).advance()) {
      size -= 1
      heap(0) = heap(size)
      ranks(0) = ranks(size)
      heap(size) = null
    }
    if (size > 1) siftDown()
  }

  private def less(i: Int, j: Int): Boolean = {
    val a = heap(i)
    val b = heap(j)
    if (a.hash != b.hash) a.hash < b.hash
    else {
      val order = a.key.compareTo(b.key)
      if (order != 0) order < 0 else ranks(i) < ranks(j)
    }
  }

  private def swap(i: Int, j: Int): Unit = {
    val cursor = heap(i)
    heap(i) = heap(j)
    heap(j) = cursor
    val rank = ranks(i)
    ranks(i) = ranks(j)
    ranks(j) = rank
  }

  private def siftUp(from: Int): Unit = {
    var i = from
    while (i > 0 && less(i, (i - 1) / 2)) {
      swap(i, (i - 1) / 2)
      i = (i - 1) / 2
    }
  }

  private def siftDown(): Unit = {
    var i = 0
    var child = 1
    while (child < size) {
      if (child + 1 < size && less(child + 1, child)) child += 1
      if (less(child, i)) {
        swap(i, child)
        i = child
        child = 2 * i + 1
      } else child = size
    }
  }
}

/** Iterates over the keys of several runs, and merges the accumulators of each key.
  *
  * After `next`, the merger holds the accumulator of the current key. `hash` and `key` are valid
  * until the next call of `next`. Not thread-safe.
  *
  * @param runs
  *   one cursor per run
  * @param merger
  *   merges the accumulators of a key
  */
final class MergedRuns[T](runs: Seq[Cursor], merger: AccumulatorMerger[T]) {
  private val merge = new Merge(runs)
  var hash: Long = 0L
  val key = new ByteRange

  /** Moves to the next key and merges its accumulators; false at the end. */
  def next(): Boolean = {
    val first = merge.head
    if (first == null) false
    else {
      hash = first.hash
      key.set(first.key)
      merger.start(first.accumulator)
      merge.advance()
      var more = merge.head
      while (more != null && more.hash == hash && more.key.contentEquals(key)) {
        merger.merge(more.accumulator)
        merge.advance()
        more = merge.head
      }
      true
    }
  }

  /** Writes the remaining keys with their accumulators. */
  def copyTo(writer: RunWriter): Unit = while (next())
    writer.append(hash, key, merger.accumulator)
}
