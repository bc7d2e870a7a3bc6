package transom.engine.sweep

import java.util.Arrays

import scala.collection.mutable.{ArrayBuffer, ArrayDeque}

import transom.engine.keyed.contract.RowCodec
import transom.engine.state.{StateReader, StateWriter}
import transom.engine.window.RowContext

/** The rows of a key that the sweep has not reached, by start and then by arrival.
  *
  * The rows are bytes in blocks of bounded size, so a row costs no object. A block is an entry of
  * the state. An entry is read when a row of its block is needed, and written if the block has
  * changed. A single block is part of the key's value instead.
  *
  * With edges, a row has a number, by which the row with its end finds it. So the search for a
  * row passes at most the rows of one block, however many rows have the same start.
  *
  * {{{
  * rows    next number (only with edges), next entry, number of blocks, blocks
  * block   start before the first row, number of rows; with several blocks: start and number
  *         (only with edges) of the first row, start of the last row, entry, layout, size; a
  *         single block: its bytes
  * }}}
  *
  * Not thread-safe.
  */
private[sweep] final class PendingRows(store: SweepStore, val hasEdges: Boolean) {
  import PendingRows._

  // Sorted, and none is empty.
  private val blocks = ArrayDeque.empty[RowBlock]
  private var count = 0
  private var nextNumber = 0L
  private var nextEntry = 0L
  // Entries of blocks that exist no more.
  private val dropped = ArrayBuffer.empty[Long]
  private var loaded = 0L
  // The block whose last row has gone; null if there are blocks. Its memory serves the next row,
  // so a key with one pending row at a time does not make a block for each.
  private var spare: RowBlock = _

  /** Number of rows that searches have passed, to test how the work grows. */
  private[sweep] var passed = 0L

  def isEmpty: Boolean = count == 0

  def size: Int = count

  /** Number of bytes in memory. */
  def heldBytes: Long = loaded + BlockWeight * blocks.length

  /** The start of the first row; `RowContext.NoEnd` if there is none. */
  def firstStart: Long = if (isEmpty) RowContext.NoEnd else blocks.head.firstStart

  /** Adds a row behind all rows with the same start. An open row gets its number. */
  def add(row: LifetimeRow): Unit = {
    val number = if (hasEdges) nextNumber else RowBlock.Behind
    nextNumber += 1
    row match {
      case open: OpenRow => open.number = number
      case _ =>
    }
    insert(row, number, isNewest = true)
  }

  /** Replaces an open row by the same row with a known end. */
  def replace(row: OpenRow, ended: LifetimeRow): Unit = {
    remove(row)
    insert(ended, row.number, isNewest = false)
  }

  /** Removes an open row. */
  def remove(row: OpenRow): Unit = {
    val at = blockOf(row.start, row.number)
    val block = read(blocks(at))
    resized(block)(passed += block.remove(row.start, row.number, store.out))
    count -= 1
    if (block.count == 0) drop(at)
  }

  /** Removes and returns the first row. Requires that there is one. */
  def take(): LifetimeRow = {
    val block = read(blocks.head)
    val row = block.take()
    count -= 1
    if (block.count == 0) drop(0)
    row
  }

  def clear(): Unit = {
    while (!isEmpty) {
      count -= blocks.last.count
      drop(blocks.length - 1)
    }
    dropSpare()
  }

  /** Copies of the rows in their order. */
  def iterator: Iterator[LifetimeRow] = blocks.iterator.flatMap { block =>
    // Blocks that are read only once do not stay in memory.
    if (block.isLoaded) block.iterator
    else {
      val copy = block.copy
      copy.load(store.entries.getBytes(List, block.entry), store)
      copy.iterator
    }
  }

  private def insert(row: LifetimeRow, number: Long, isNewest: Boolean): Unit = {
    val at = math.max(0, blockOf(row.start, number))
    count += 1
    if (blocks.isEmpty) append(row, number)
    else if (isNewest && at == blocks.length - 1 && row.start >= blocks(at).lastStart &&
      blocks(at).length + row.length > MaxBlock) {
      // Rows that come in order fill their blocks.
      resized(blocks(at))(blocks(at).trim())
      append(row, number)
    } else {
      val block = read(blocks(at))
      resized(block)(passed += block.insert(row, number, isNewest, store.out))
      if (block.length > MaxBlock && block.count > 1) {
        val half = new RowBlock(0L, hasEdges, store.codec.layout)
        resized(block)(block.moveHalf(half))
        loaded += half.capacity
        blocks.insert(at + 1, half)
      }
    }
  }

  private def append(row: LifetimeRow, number: Long): Unit = {
    val block =
      if (spare == null) new RowBlock(row.start, hasEdges, store.codec.layout)
      else spare.restarted(row.start)
    spare = null
    blocks += block
    resized(block)(block.insert(row, number, isNewest = true, store.out): Unit)
  }

  /** The last block that does not start behind a row; -1 if there is none. */
  private def blockOf(start: Long, number: Long): Int = {
    var from = 0
    var until = blocks.length
    while (from < until) {
      val middle = (from + until) >>> 1
      if (blocks(middle).startsBehind(start, number)) until = middle else from = middle + 1
    }
    from - 1
  }

  private def read(block: RowBlock): RowBlock = {
    if (!block.isLoaded)
      resized(block)(block.load(store.entries.getBytes(List, block.entry), store))
    block
  }

  /** Counts by how many bytes a block grows or shrinks. */
  private def resized(block: RowBlock)(change: => Unit): Unit = {
    loaded -= block.capacity
    change
    loaded += block.capacity
  }

  private def drop(at: Int): Unit = {
    val block = if (at == 0) blocks.removeHead() else blocks.remove(at)
    if (block.entry >= 0) dropped += block.entry
    if (blocks.isEmpty && block.entry < 0) spare = block else loaded -= block.capacity
  }

  private def dropSpare(): Unit = if (spare != null) {
    loaded -= spare.capacity
    spare = null
  }

  /** Removes the entries of all blocks. */
  def removeEntries(): Unit = {
    clear()
    dropped.foreach(store.entries.remove(List, _))
    dropped.clear()
  }

  /** Writes the changed blocks to their entries, and the list of all blocks. */
  def write(out: StateWriter): Unit = {
    dropSpare()
    if (blocks.length == 1 && blocks(0).entry >= 0) {
      val block = read(blocks(0))
      dropped += block.entry
      block.entry = RowBlock.NoEntry
    }
    dropped.foreach(store.entries.remove(List, _))
    dropped.clear()
    if (blocks.length > 1) blocks.foreach { block =>
      if (block.isChanged) {
        if (block.entry < 0) {
          block.entry = nextEntry
          nextEntry += 1
        }
        store.entries.putBytes(List, block.entry, block.rows)
        block.noteStored()
      }
    }
    if (hasEdges) out.unsigned(nextNumber)
    out.unsigned(nextEntry)
    out.unsigned(blocks.length)
    var base = 0L
    blocks.foreach { block =>
      out.signed(block.base - base)
      out.unsigned(block.count)
      base = block.base
      if (blocks.length > 1) {
        out.signed(block.firstStart - base)
        if (hasEdges) out.unsigned(block.firstNumber)
        out.signed(block.lastStart - base)
        out.unsigned(block.entry)
        out.signed(block.layout)
        out.unsigned(block.length)
      } else out.array(block.rows)
    }
  }

  /** Adds the rows that `write` has written to no rows.
    *
    * @param written
    *   the layout of the rows that are in no entry
    */
  def read(in: StateReader, written: Int): Unit = {
    if (hasEdges) nextNumber = in.unsigned()
    nextEntry = in.unsigned()
    val length = in.unsigned().toInt
    var base = 0L
    while (blocks.length < length) {
      base += in.signed()
      val block = new RowBlock(base, hasEdges, written)
      block.count = in.unsigned().toInt
      if (length > 1) {
        block.firstStart = base + in.signed()
        if (hasEdges) block.firstNumber = in.unsigned()
        block.lastStart = base + in.signed()
        block.entry = in.unsigned()
        block.layout = in.signed().toInt
        block.leave(in.unsigned().toInt)
      } else
        resized(block) {
          block.load(in.array(), store)
          block.noteBounds()
        }
      count += block.count
      blocks += block
    }
  }
}

private[sweep] object PendingRows {

  /** Size in bytes above which a block is split, unless it has only one row. */
  final val MaxBlock = 8 << 10

  /** The list of the entries of blocks. */
  private final val List = 0L

  // Estimated heap size of the object of a block, in bytes.
  private final val BlockWeight = 120L
}

/** Rows with their lifetimes, as bytes, by start and then by number.
  *
  * {{{
  * row     difference of the start to the start of the previous row, length of the lifetime, row;
  *         with edges between them the number of the row, and whether the row waits for its end
  * }}}
  *
  * Not thread-safe.
  *
  * @param base
  *   the start that precedes the first row's start. Only the block changes it
  * @param layout
  *   the layout of the rows. Changes only while the block is read
  */
private[sweep] final class RowBlock(var base: Long, hasNumbers: Boolean, var layout: Int) {
  // Null while the rows are only in their entry.
  private var bytes: Array[Byte] = Array.emptyByteArray
  private var from = 0
  private var until = 0
  private var isStored = false
  // Whether the array belongs to the entry, so that it must not change.
  private var isShared = false

  /** Number of rows. Only the block changes it, once the block is read. */
  var count = 0

  /** The start and the number of the first row, and the start of the last row. Only the block
    * changes them, once the block is read.
    */
  var firstStart = 0L
  var firstNumber = 0L
  var lastStart: Long = Long.MinValue

  /** The number of the entry. Only `PendingRows` changes it. */
  var entry: Long = RowBlock.NoEntry

  def isLoaded: Boolean = bytes != null

  /** Whether the rows differ from those in the entry. */
  def isChanged: Boolean = entry < 0 || !isStored

  /** Number of bytes in memory. */
  def capacity: Int = if (bytes == null) 0 else bytes.length

  /** Number of bytes of the rows. */
  def length: Int = until - from

  /** Leaves the rows in their entry, where they have `length` bytes. */
  def leave(length: Int): Unit = {
    bytes = null
    isStored = true
    until = length
  }

  /** Sets the rows from their bytes, which may have another layout. Requires that `base`, `count`
    * and `layout` are set.
    */
  def load(rows: Array[Byte], store: SweepStore): Unit = {
    bytes = rows
    from = 0
    until = rows.length
    isShared = true
    if (layout != store.codec.layout) convert(store.codec, store.out)
  }

  private def convert(codec: RowCodec[_], out: StateWriter): Unit = {
    val in = new StateReader(bytes)
    while (in.offset < until) {
      out.signed(in.signed())
      if (hasNumbers) out.unsigned(in.unsigned())
      out.signed(in.signed())
      val length = in.skipArray()
      out.array(codec.converted(layout, bytes, in.offset - length, length))
    }
    bytes = out.take()
    until = bytes.length
    isShared = false
    layout = codec.layout
    isStored = false
  }

  /** A block for the same rows, without their bytes. */
  def copy: RowBlock = {
    val block = new RowBlock(base, hasNumbers, layout)
    block.count = count
    block
  }

  /** The bytes of the rows as an array. */
  def rows: Array[Byte] = Arrays.copyOfRange(bytes, from, until)

  /** Notes that the entry has the rows. */
  def noteStored(): Unit = isStored = true

  /** Starts again without rows. Requires that there is none. Taken rows keep their bytes. */
  def restarted(start: Long): RowBlock = {
    base = start
    from = until
    lastStart = Long.MinValue
    this
  }

  /** Gives up the memory that no row uses. */
  def trim(): Unit = if (isLoaded && length < bytes.length) {
    bytes = Arrays.copyOfRange(bytes, from, until)
    from = 0
    until = bytes.length
    isShared = false
  }

  /** Whether the first row comes behind another row. */
  def startsBehind(start: Long, number: Long): Boolean =
    firstStart > start || firstStart == start && firstNumber > number

  /** Inserts a row. Returns the number of rows that the search has passed.
    *
    * @param isNewest
    *   whether the row comes behind all rows with the same start
    */
  def insert(row: LifetimeRow, number: Long, isNewest: Boolean, out: StateWriter): Int = {
    isStored = false
    val passed =
      if (isNewest && row.start >= lastStart) {
        position = until
        before = if (count == 0) base else lastStart
        0
      } else seek(row.start, number)
    out.signed(row.start - before)
    if (hasNumbers) out.unsigned(number << 1 | (if (row.isInstanceOf[OpenRow]) 1L else 0L))
    out.signed(row.end - row.start)
    out.array(row.bytes, row.offset, row.length)
    // The next row now follows this one.
    val end = if (position == until) until else writeStart(position, before, row.start, out)
    if (position == from) {
      firstStart = row.start
      if (hasNumbers) firstNumber = number
    }
    if (position == until) lastStart = row.start
    splice(end, out)
    count += 1
    passed
  }

  /** Removes a row. Returns the number of rows that the search has passed. */
  def remove(start: Long, number: Long, out: StateWriter): Int = {
    isStored = false
    val passed = seek(start, number)
    val in = new StateReader(bytes, position)
    skip(in)
    val isLast = in.offset == until
    val end = if (isLast) until else writeStart(in.offset, start, before, out)
    if (isLast) lastStart = before
    splice(end, out)
    count -= 1
    if (passed == 0 && count > 0) noteFirst()
    passed
  }

  /** Writes the start of the row at `at`. Returns where the rest of the row starts.
    *
    * @param previous
    *   the start from which its start has been counted
    * @param next
    *   the start from which its start is counted
    */
  private def writeStart(at: Int, previous: Long, next: Long, out: StateWriter): Int = {
    val in = new StateReader(bytes, at)
    out.signed(previous + in.signed() - next)
    in.offset
  }

  /** Replaces the bytes from `position` to `end` by those in `out`. Never changes the bytes
    * before `from`, which taken rows share.
    */
  private def splice(end: Int, out: StateWriter): Unit = {
    val grown = out.length - (end - position)
    val next = position + out.length
    if (isShared || grown > bytes.length - until) {
      val size = math.max(length + grown, math.min(2 * bytes.length, RowBlock.Size))
      val larger = new Array[Byte](size)
      System.arraycopy(bytes, from, larger, 0, position - from)
      out.take(larger, position - from)
      System.arraycopy(bytes, end, larger, next - from, until - end)
      until += grown - from
      from = 0
      bytes = larger
      isShared = false
    } else {
      System.arraycopy(bytes, end, bytes, next, until - end)
      out.take(bytes, position)
      until += grown
    }
  }

  /** Removes and returns the first row. The row shares the bytes of the block. */
  def take(): LifetimeRow = {
    isStored = false
    val in = new StateReader(bytes, from)
    val row = read(in, base, copies = false)
    base = row.start
    from = in.offset
    count -= 1
    if (count > 0) noteFirst()
    row
  }

  /** Moves the second half of the rows to an empty block. */
  def moveHalf(other: RowBlock): Unit = {
    isStored = false
    val in = new StateReader(bytes, from)
    var kept = 0
    var start = base
    while (kept == 0 || kept < count - 1 && 2 * (in.offset - from) < length) {
      start += skip(in)
      kept += 1
    }
    other.base = start
    other.count = count - kept
    other.bytes = Arrays.copyOfRange(bytes, in.offset, until)
    other.until = other.bytes.length
    other.noteFirst()
    other.lastStart = lastStart
    lastStart = start
    until = in.offset
    count = kept
    trim()
  }

  /** Copies of the rows. */
  def iterator: Iterator[LifetimeRow] = {
    val in = new StateReader(bytes, from)
    var start = base
    Iterator.fill(count) {
      val row = read(in, start, copies = true)
      start = row.start
      row
    }
  }

  // Where `seek` has stopped, and the start of the row before.
  private var position = 0
  private var before = 0L

  /** Sets `position` to the first row that is not before (start, number). */
  private def seek(start: Long, number: Long): Int = {
    val in = new StateReader(bytes, from)
    var passed = 0
    position = from
    before = base
    var isFound = false
    while (!isFound && position < until) {
      val rowStart = before + in.signed()
      val rowNumber = if (hasNumbers) in.unsigned() >>> 1 else 0L
      isFound = rowStart > start || rowStart == start && rowNumber >= number
      if (!isFound) {
        in.signed(): Unit
        in.skipArray(): Unit
        position = in.offset
        before = rowStart
        passed += 1
      }
    }
    passed
  }

  /** Notes the bounds of rows that have been set from bytes alone. */
  def noteBounds(): Unit = {
    noteFirst()
    val in = new StateReader(bytes, from)
    lastStart = base
    while (in.offset < until) lastStart += skip(in)
  }

  private def noteFirst(): Unit = {
    val in = new StateReader(bytes, from)
    firstStart = base + in.signed()
    if (hasNumbers) firstNumber = in.unsigned() >>> 1
  }

  /** Skips a row. Returns the difference of its start to the start of the previous row. */
  private def skip(in: StateReader): Long = {
    val difference = in.signed()
    if (hasNumbers) in.unsigned(): Unit
    in.signed(): Unit
    in.skipArray(): Unit
    difference
  }

  /** Reads a row.
    *
    * @param copies
    *   whether the block may still change the bytes of the row
    */
  private def read(in: StateReader, previous: Long, copies: Boolean): LifetimeRow = {
    val start = previous + in.signed()
    val number = if (hasNumbers) in.unsigned() else 0L
    val end = start + in.signed()
    val isOpen = (number & 1) != 0
    if (isOpen) {
      // An open row may stay for long, so it does not keep the bytes of other rows.
      val row = in.array()
      val open = new OpenRow(start, end, row, 0, row.length)
      open.number = number >>> 1
      open
    } else if (copies) {
      val row = in.array()
      new LifetimeRow(start, end, row, 0, row.length)
    } else {
      val length = in.skipArray()
      new LifetimeRow(start, end, bytes, in.offset - length, length)
    }
  }
}

private[sweep] object RowBlock {
  final val NoEntry = -1L

  /** The number of a new row in a block without numbers: behind rows with the same start. */
  final val Behind = 1L

  // The largest array that is allocated ahead of its rows.
  private final val Size = 8 << 10
}
