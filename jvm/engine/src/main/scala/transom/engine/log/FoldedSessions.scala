package transom.engine.log

/** The newest session of each key in the runs of one pane; if `wanted`, its accumulator too.
  *
  * @param isWhole
  *   whether these are all runs of the pane. If not, whether a record began another session is
  *   not known: a key then comes more than once, in the order in which its records were written
  * @param only
  *   hashes, in order, of the keys that are asked for; all if none are given
  */
private[log] final class FoldedSessions[T](
    runs: Seq[Cursor],
    gap: Long,
    wanted: Option[Fold[T]],
    isWhole: Boolean = true,
    only: Option[Array[Long]] = None) {
  private val hashes = only.orNull
  private var nextHash = 0
  private val merge = new Merge(runs)
  private val folding = wanted.orNull
  private val more = new SessionBounds
  private val accumulator = new Slice
  private var atEnd = false
  var hash: Long = 0L
  val key = new Slice
  val bounds = new SessionBounds

  def next(): Boolean = {
    if (hashes != null) skipOthers()
    val first = merge.head
    if (first == null) {
      atEnd = true
      false
    } else {
      hash = first.hash
      key.set(first.key)
      bounds.read(first)
      if (folding != null) folding.start(behindBounds(first))
      merge.advance()
      var head = merge.head
      while (head != null && head.hash == hash && head.key.contentEquals(key) && unite(head)) {
        merge.advance()
        head = merge.head
      }
      true
    }
  }

  /** Moves forward to a key; whether it is there. Keys must be asked for in order, after a first
    * `next`.
    */
  def seek(toHash: Long, toKey: Slice): Boolean = {
    while (!atEnd && (hash < toHash || hash == toHash && key.compareTo(toKey) < 0)) next()
    !atEnd && hash == toHash && key.contentEquals(toKey)
  }

  private def skipOthers(): Unit = {
    var head = merge.head
    while (head != null && !isAskedFor(head.hash)) {
      merge.advance()
      head = merge.head
    }
  }

  private def isAskedFor(hash: Long): Boolean = {
    while (nextHash < hashes.length && hashes(nextHash) < hash) nextHash += 1
    nextHash < hashes.length && hashes(nextHash) == hash
  }

  /** Whether the record was taken in. */
  private def unite(record: Cursor): Boolean = {
    more.read(record)
    if (bounds.last + gap > more.judgedBy) {
      bounds.first = math.min(bounds.first, more.first)
      bounds.last = math.max(bounds.last, more.last)
      if (folding != null) folding.add(behindBounds(record))
      true
    } else {
      if (isWhole) {
        // What was folded so far had closed or moved on before this record was written.
        bounds.set(more.first, more.last, more.judgedBy)
        if (folding != null) folding.start(behindBounds(record))
      }
      isWhole
    }
  }

  private def behindBounds(record: Cursor): Slice =
    accumulator.set(
      record.accumulator.bytes,
      record.accumulator.offset + SessionBounds.Size,
      record.accumulator.length - SessionBounds.Size)
}
