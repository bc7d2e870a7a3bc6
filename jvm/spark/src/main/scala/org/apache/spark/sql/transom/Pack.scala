package org.apache.spark.sql.transom

import scala.collection.AbstractIterator

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

import transom.engine.{KeyGroups, Watermark}
import transom.engine.log.ByteRange

/** Map side of a window stage: packs rows by key group, as slices or as they are. The exchange,
  * and the sort that Spark puts before a stateful operator, see a few large rows instead of every
  * key.
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
    val watermark = LateWatermark.of(session, operator)
    val packing = Packing(stage, input, watermark)
    InputRows.of(child).mapPartitionsInternal(packing.pack)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PackExec =
    copy(child = newChild)
}

/** The packing of a stage in one batch.
  *
  * @param watermark
  *   by which rows are late, microseconds; `Watermark.NotYet` if there is none
  */
final case class Packing(stage: WindowStage, input: Seq[Attribute], watermark: Long) {

  /** The same as the engine counts. */
  val lateWatermark: Long = Watermark.minus(watermark, stage.watermarkShift)

  def pack(rows: Iterator[InternalRow]): Iterator[InternalRow] =
    if (stage.packsPanes) new PackedPanes(this, rows) else new PackedRows(this, rows)
}

/** The packing of one task. */
abstract class Packed(packing: Packing, rows: Iterator[InternalRow])
    extends AbstractIterator[InternalRow] {
  import packing.{input, lateWatermark, stage}

  private val timeAt = input.indexWhere(_.exprId == stage.time.exprId)
  protected val toKey: UnsafeProjection = UnsafeProjection.create(stage.keys, input)
  protected val key = new ByteRange
  protected val counts = new RowCounts
  protected lazy val toRow: UnsafeProjection = UnsafeProjection.create(stage.row, input)
  private val exchanged = Exchanged.projection(stage.order)

  protected var out: Iterator[InternalRow] = Iterator.empty
  private var isOver = false
  // Tasks follow each other as they do in Spark's own order of partitions.
  private var place = TaskContext.getPartitionId().toLong << 40

  /** Takes a row.
    *
    * @param time
    *   as the engine counts
    */
  protected def take(row: InternalRow, time: Long): Unit

  /** All that is held; what comes next begins anew. */
  protected def drain(): Iterator[InternalRow]

  /** What was handed on has been taken. */
  protected def begin(): Unit = ()

  override final def hasNext: Boolean = {
    while (!out.hasNext && rows.hasNext) take()
    if (!out.hasNext && !isOver) {
      isOver = true
      out = drain() ++ Iterator.single(sent(0, Exchanged.Counts, 0L, counts.bytes))
    }
    out.hasNext
  }

  override final def next(): InternalRow =
    if (hasNext) out.next() else throw new NoSuchElementException("no further row")

  /** Takes rows until there is something to hand on, or none is left. */
  private def take(): Unit = {
    begin()
    out = Iterator.empty
    while ((out eq Iterator.empty) && rows.hasNext) {
      val row = rows.next()
      counts.in += 1
      if (row.isNullAt(timeAt)) {
        counts.withoutTime += 1
        refuse(row, DeadLetter.NoTime)
      } else {
        val time = row.getLong(timeAt)
        if (DeadLetter.isInRange(time)) take(row, time - stage.timeShift)
        else {
          counts.outOfRange += 1
          refuse(row, DeadLetter.TimeOutOfRange)
        }
      }
    }
  }

  /** Hands a row on that no window can take, if that is asked for.
    *
    * @param time
    *   in microseconds, as far as it has one that can be used
    */
  protected final def refuse(row: InternalRow, reason: Int, time: Option[Long] = None): Unit =
    if (stage.deadLetters) {
      UnsafeRows.bytesOf(toKey(row), key)
      val record = DeadLetter.write(reason, time, toRow(row).getBytes)
      out = Iterator.single(sent(groupOfKey, Exchanged.Dead, 0L, record))
    }

  /** Where what is handed on now stands in the order of arrival. */
  protected final def nextPlace(): Long = {
    place += 1
    place
  }

  protected final def groupOfKey: Int = KeyGroups.groupOf(LateRecord.hash(key), stage.keyGroups)

  protected final def sent(
      group: Int,
      kind: Int,
      place: Long,
      payload: Array[Byte],
      order: InternalRow = Packed.noOrder): InternalRow = {
    val columns = new Array[Any](Exchanged.Payload + 1 + stage.order.length)
    columns(Exchanged.Group) = KeyGroups.idOf(group)
    columns(Exchanged.Kind) = kind
    columns(Exchanged.Place) = place
    columns(Exchanged.LateWatermark) = lateWatermark
    columns(Exchanged.Payload) = payload
    if (order ne Packed.noOrder)
      stage.order.indices.foreach { i =>
        columns(Exchanged.Payload + 1 + i) = order.get(i, stage.order(i).dataType)
      }
    exchanged(new GenericInternalRow(columns))
  }
}

private object Packed {

  /** Bytes of records that a task holds before it hands them on. */
  final val MaxHeld = 64L << 20

  val noOrder: InternalRow = InternalRow.empty
}
