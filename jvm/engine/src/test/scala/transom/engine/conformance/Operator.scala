package transom.engine.conformance

import transom.engine._
import transom.engine.log._

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
  def nextDue: Long

  /** Whether no state is left. */
  def isEmpty: Boolean
}

object Operator {

  private val SliceOrder: Ordering[Slice] = (a, b) => a.compareTo(b)

  /** One segment of rows; `append` writes a row to it. */
  def segment(rows: Seq[Row])(append: (SegmentWriter, Row) => Unit): Array[Byte] = {
    val writer = new SegmentWriter
    rows
      .sortBy(row => (row.hash, row.keyBytes))(Ordering.Tuple2(Ordering.Long, SliceOrder))
      .foreach {
        append(writer, _)
      }
    writer.take()
  }
}

/** Windows on a grid, in the pane log. */
final class GridOperator(grid: Grid, sharedBytes: Long = PaneLog.SharedBytes) extends Operator {

  private val store = new MemoryStore

  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    // Flink reports a row in a gap as late once the watermark has passed it; a stage of ours counts
    // it among the rows in gaps.
    val (late, taken) = rows
      .map(row => (row, grid.paneOf(row.time.getOrElse(0))))
      .filter { case (row, pane) => pane != Grid.NoPane || row.time.exists(_ < watermark) }
      .partition { case (_, pane) => pane == Grid.NoPane || grid.lastDue(pane) <= watermark }
    visit { log =>
      taken.groupMap(_._2)(_._1).foreach { case (pane, held) =>
        val segment = Operator.segment(held) { (writer, row) =>
          writer.append(row.hash, row.keyBytes, row.accumulator)
        }
        log.append(pane, segment, watermark)
      }
    }
    late.map(_._1)
  }

  override def fire(watermark: Long): Seq[Fired] = visit(_.fire(watermark).toVector)

  override def nextDue: Long = visit(_.nextDue)

  private def visit[A](body: PaneLog[Fired] => A): A = {
    // So small that a test's segments are bundled in different ways.
    val buffered = new BufferedStore(new BundledStore(store, targetSize = 400))
    val panes = new Panes(buffered)
    val answer = body(new PaneLog(grid, panes, new RowList, sharedBytes))
    buffered.flush()
    panes.save()
    answer
  }

  override def isEmpty: Boolean = store.size == 0 && store.directory == null
}

/** Sessions, in the pane log. */
final class SessionOperator(
    gap: Long,
    inclusive: Boolean = true,
    inMemory: Long = SessionLog.InMemory)
    extends Operator {

  private val store = new MemoryStore

  override def process(rows: Seq[Row], watermark: Long): Seq[Row] = {
    val (late, open) = rows.partition(row => Sessions.windowOf(time(row), gap).end <= watermark)
    val panes = new Panes(store)
    val log = logOf(panes)
    open.groupBy(row => SessionLog.paneOf(time(row), gap)).foreachEntry { (_, held) =>
      val segment = Operator.segment(held) { (writer, row) =>
        val bounds = new SessionBounds().set(time(row), time(row))
        writer.append(row.hash, row.keyBytes, bounds, row.accumulator)
      }
      log.append(segment, watermark)
    }
    log.settle()
    val asked = late.map(row => new LateRow(row.hash, row.keyBytes, time(row), row.accumulator))
    val alone = if (asked.isEmpty) Nil else log.join(asked, watermark)
    panes.save()
    late.zip(asked).collect { case (row, asLate) if alone.exists(_ eq asLate) => row }
  }

  private def logOf(panes: Panes) =
    new SessionLog(gap, inclusive, panes, new RowList, inMemory)

  private def time(row: Row): Long = row.time.get

  override def fire(watermark: Long): Seq[Fired] = {
    val panes = new Panes(store)
    val fired = logOf(panes).fire(watermark).toVector
    panes.save()
    fired
  }

  override def nextDue: Long =
    logOf(new Panes(store)).nextDue

  override def isEmpty: Boolean = store.size == 0 && store.directory == null
}
