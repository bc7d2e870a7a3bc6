package org.apache.spark.sql.transom

import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

import transom.engine.{Grid, KeyGroups}
import transom.engine.log.{PaneTable, SessionBounds, Slice}
import transom.engine.spec.LateRows

/** Takes rows into panes, map side: tells late ones apart, folds the others by key and hands each
  * pane on as sorted segments, one or more for each key group. The exchange, and the sort that
  * Spark puts before a stateful operator, see a few large rows instead of every key.
  */
case class PackExec(
    stage: WindowStage,
    input: Seq[Attribute],
    output: Seq[Attribute],
    operator: String,
    child: SparkPlan)
    extends UnaryExecNode {

  override def producedAttributes: AttributeSet = outputSet ++ AttributeSet(input)

  // All that its child yields lies where `input` says, and none of it may be pruned.
  @transient override lazy val references: AttributeSet = child.outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)

  override protected def doExecute(): RDD[InternalRow] = {
    CheckpointedSpec.check(session, this)
    val watermark = JudgingWatermark.of(session, operator)
    val packing = Packing(stage, input, watermark)
    child.execute().mapPartitions(packing.pack)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PackExec =
    copy(child = newChild)
}

/** The packing of a stage in one batch.
  *
  * @param watermark
  *   by which rows are late, microseconds; `Long.MinValue` if there is none
  */
final case class Packing(stage: WindowStage, input: Seq[Attribute], watermark: Long) {
  def pack(rows: Iterator[InternalRow]): Iterator[InternalRow] = new PackedRows(this, rows)
}

/** The packing of one task. */
private final class PackedRows(packing: Packing, rows: Iterator[InternalRow])
    extends Iterator[InternalRow] {
  import packing.{input, stage}

  private val windows = stage.windows
  private val isSession = stage.isSession
  private val judgedBy =
    if (packing.watermark == Long.MinValue) packing.watermark
    else packing.watermark - windows.watermarkShift
  private val tagsLate = stage.lateRows != LateRows.No
  private val tagsPartly = stage.lateRows == LateRows.Partly
  // A late row may still join an open session, which only its key group knows.
  private val keepsLate = tagsLate || isSession

  private val timeAt = input.indexWhere(_.exprId == stage.time.exprId)
  private val toKey = UnsafeProjection.create(stage.keys, input)
  private lazy val toRow = UnsafeProjection.create(stage.row, input)
  private val fold = new RowFold(stage, input)
  private val fresh =
    (if (isSession) new Array[Byte](SessionBounds.Size) else Array.emptyByteArray) ++ fold.initial
  private val freshView = ByteBuffer.wrap(fresh).order(ByteOrder.LITTLE_ENDIAN)
  private val freshBounds = new SessionBounds

  private val key = new Slice
  private val panes = mutable.LongMap.empty[PaneTable]
  private var lastPane = Grid.NoPane
  private var table: PaneTable = _
  private var held = 0L

  private val counts = new RowCounts
  private val exchanged =
    InterpretedUnsafeProjection.createProjection(Exchanged.types.toSeq.zipWithIndex.map {
      case (t, i) => BoundReference(i, t, nullable = false)
    })

  private var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false

  override def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) take()
    if (!out.hasNext && !isOver) {
      isOver = true
      out = drain() ++ Iterator.single(sent(0, Exchanged.Counts, 0L, counts.bytes))
    }
    out.hasNext
  }

  override def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further segment")

  /** Takes rows until there is something to hand on, or none is left. */
  private def take(): Unit = {
    // Segments are written as they are asked for, which is over once rows are taken again.
    if (panes.isEmpty) fold.clear()
    out = Iterator.empty
    while ((out eq Iterator.empty) && rows.hasNext) {
      val row = rows.next()
      counts.in += 1
      if (row.isNullAt(timeAt)) counts.withoutTime += 1
      else judge(row, row.getLong(timeAt) - windows.timeShift)
    }
  }

  private def judge(row: InternalRow, time: Long): Unit = {
    val pane = windows.paneOf(time)
    if (pane == Grid.NoPane) counts.inGaps += 1
    else if (!windows.isLate(time, pane, judgedBy)) {
      add(row, time, pane)
      if (tagsPartly && windows.isPartlyLate(pane, judgedBy)) {
        counts.latePartly += 1
        out ++= Iterator.single(late(row, time, pane, LateRecord.Partly))
      }
    } else if (keepsLate) out = Iterator.single(late(row, time, pane, LateRecord.Late))
    else counts.late += 1
  }

  private def add(row: InternalRow, time: Long, pane: Long): Unit = {
    if (pane != lastPane) {
      lastPane = pane
      table = panes.getOrElseUpdate(pane, opened())
    }
    UnsafeRows.slice(toKey(row), key)
    val before = table.size
    if (isSession) {
      freshBounds.set(time, time, judgedBy).write(freshView, 0)
      val at = table.locate(key, fresh)
      table.extend(at, time)
      fold.update(table.array, at + SessionBounds.Size, row)
    } else {
      val at = table.locate(key, fresh)
      fold.update(table.array, at, row)
    }
    held += table.size - before
    if (!fold.inPlace) held += PackedRows.sizeOf(row)
    if (held > PackedRows.MaxHeld) out ++= drain()
  }

  private def opened(): PaneTable = {
    val table = new PaneTable
    held += table.size
    table
  }

  private def late(row: InternalRow, time: Long, pane: Long, reason: Int): InternalRow = {
    UnsafeRows.slice(toKey(row), key)
    val own = if (tagsLate) toRow(row).getBytes else Array.emptyByteArray
    val record = LateRecord.write(reason, time, key, fold.single(row), own)
    val group = KeyGroups.groupOf(LateRecord.hash(key), stage.keyGroups)
    sent(group, Exchanged.Late, pane, record)
  }

  /** All that is held, as segments; what comes next begins anew. */
  private def drain(): Iterator[InternalRow] = {
    val segments = for {
      (pane, table) <- panes.toSeq.sortBy(_._1).iterator
      (group, segment) <- table.segments(stage.keyGroups, isSession)(fold.written)
    } yield sent(group, Exchanged.Segment, pane, segment)
    panes.clear()
    lastPane = Grid.NoPane
    held = 0L
    segments
  }

  private def sent(group: Int, kind: Int, pane: Long, payload: Array[Byte]): InternalRow =
    exchanged(InternalRow(KeyGroups.idOf(group), kind, pane, judgedBy, payload))
}

private object PackedRows {

  /** Bytes of records that a task holds before it sends segments on. */
  val MaxHeld: Long = 64L << 20

  /** What a row adds to objects is not known; it is hardly more than the row. */
  private def sizeOf(row: InternalRow): Long = row match {
    case unsafe: UnsafeRow => unsafe.getSizeInBytes.toLong
    case other => 16L * other.numFields
  }
}
