package transom.engine.conformance

import transom.engine.session.{LateRow, SessionLog}
import transom.engine.slice.SliceLog
import transom.engine.state._
import transom.engine.window.{Grid, Sessions}

/** A window operator over state in memory. Nothing but the state lasts from one call to the next,
  * as if the query were restarted each time.
  *
  * Watermarks are in Spark's sense: nothing before them is to come.
  */
trait Operator {

  /** Takes rows that met `watermark`; answers those that are late. */
  def process(rows: Seq[Row], watermark: Long): Seq[Row]

  /** What is due at `watermark`. */
  def fire(watermark: Long): Seq[Fired]

  /** Moves the wall clock. */
  def tick(clock: Long): Unit = ()

  /** What rows and the wall clock have fired. */
  def takeFired(): Seq[Fired] = Nil

  /** How many rows are stored one by one. */
  def storedRows: Int = 0

  /** When something may be due next. */
  def nextTimer: Long

  /** Whether no state is left. */
  def isEmpty: Boolean
}

object Operator {

  private val ByteRangeOrder: Ordering[ByteRange] = (a, b) => a.compareTo(b)

  /** One segment of rows; `append` writes a row to it. */
  def segment(rows: Seq[Row])(append: (SegmentWriter, Row) => Unit): Array[Byte] = {
    val writer = new SegmentWriter
    rows
      .sortBy(row => (row.hash, row.keyBytes))(Ordering.Tuple2(Ordering.Long, ByteRangeOrder))
      .foreach {
        append(writer, _)
      }
    writer.take()
  }
}

/** Windows on a grid, in the slice log. */
final class GridOperator(grid: Grid, sharedBytes: Long = SliceLog.SharedBytes) extends Operator {

  private val store = new MemoryStore

  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    // Flink reports a row in a gap as late once the watermark has passed it; a stage of ours counts
    // it among the rows in gaps.
    val (late, onTime) = rows
      .map(row => (row, grid.sliceOf(row.time.getOrElse(0))))
      .filter { case (row, slice) => slice != Grid.NoSlice || row.time.exists(_ < watermark) }
      .partition { case (_, slice) =>
        slice == Grid.NoSlice || grid.lastEndOf(slice) <= watermark
      }
    withLog { log =>
      onTime.groupMap(_._2)(_._1).foreach { case (slice, held) =>
        val segment = Operator.segment(held) { (writer, row) =>
          writer.append(row.hash, row.keyBytes, row.accumulator)
        }
        log.append(slice, segment, watermark)
      }
    }
    late.map(_._1)
  }

  override def fire(watermark: Long): Seq[Fired] = withLog(_.fire(watermark).toVector)

  override def nextTimer: Long = withLog(_.nextTimer)

  private def withLog[A](body: SliceLog[Fired] => A): A = {
    // So small that a test's segments are bundled in different ways.
    val buffered = new BufferedStore(new BundledStore(store, targetSize = 400))
    val slices = new SliceDirectory(buffered)
    val answer = body(new SliceLog(grid, slices, new RowList, sharedBytes))
    buffered.flush()
    slices.save()
    answer
  }

  override def isEmpty: Boolean = store.size == 0 && store.directory == null
}

/** Sessions, in the slice log. */
final class SessionOperator(
    gap: Long,
    inclusive: Boolean = true,
    inMemory: Long = SessionLog.InMemory)
    extends Operator {

  private val store = new MemoryStore

  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    val (late, open) = rows.partition(row => Sessions.windowOf(time(row), gap).end <= watermark)
    val slices = new SliceDirectory(store)
    val log = logOf(slices)
    open.groupBy(row => SessionLog.sliceOf(time(row), gap)).foreachEntry { (_, held) =>
      val segment = Operator.segment(held) { (writer, row) =>
        val bounds = new SessionBounds().set(time(row), time(row))
        writer.append(row.hash, row.keyBytes, bounds, row.accumulator)
      }
      log.append(segment, watermark)
    }
    log.settle()
    val lateRows =
      late.map(row => new LateRow(row.hash, row.keyBytes, time(row), row.accumulator))
    val alone = if (lateRows.isEmpty) Nil else log.join(lateRows, watermark)
    slices.save()
    late.zip(lateRows).collect { case (row, asLate) if alone.exists(_ eq asLate) => row }
  }

  private def logOf(slices: SliceDirectory) =
    new SessionLog(gap, inclusive, slices, new RowList, inMemory)

  private def time(row: Row): Long = row.time.get

  override def fire(watermark: Long): Seq[Fired] = {
    val slices = new SliceDirectory(store)
    val fired = logOf(slices).fire(watermark).toVector
    slices.save()
    fired
  }

  override def nextTimer: Long =
    logOf(new SliceDirectory(store)).nextTimer

  override def isEmpty: Boolean = store.size == 0 && store.directory == null
}
