package org.apache.spark.sql.transom

import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types._

import transom.engine.KeyGroups
import transom.engine.log.{LateRow, SegmentWriter, SessionBounds, Slice}

/** Packs partial aggregates into sorted segments, one or more for each key group and pane, still
  * map side: the exchange and the sort that Spark puts before a stateful operator then see a few
  * large rows instead of every key.
  */
case class PackExec(
    stage: WindowStage,
    output: Seq[Attribute],
    counts: RowCounts,
    operator: String,
    child: SparkPlan)
    extends UnaryExecNode {

  override def producedAttributes: AttributeSet = outputSet

  override def outputPartitioning: Partitioning = UnknownPartitioning(
    child.outputPartitioning.numPartitions)

  override protected def doExecute(): RDD[InternalRow] = {
    val judgedBy = JudgingWatermark.of(session, operator)
    val packing =
      Packing(stage, if (judgedBy == Long.MinValue) judgedBy else judgedBy - stage.windows.shift)
    val counted = counts
    child.execute().mapPartitions(rows => packing.pack(rows, counted))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): PackExec =
    copy(child = newChild)
}

/** The packing of one task. Rows: pane, late if kept, keys, for sessions the first and last time,
  * buffers.
  */
final case class Packing(stage: WindowStage, judgedBy: Long) {
  def pack(rows: Iterator[InternalRow], counts: RowCounts): Iterator[InternalRow] = {
    val lateTypes = stage.lateColumn.dataType.toSeq
    val columns = (LongType +: lateTypes) ++ stage.keys.map(_.dataType) ++
      (if (stage.isSession) Seq(LongType, LongType) else Nil) ++ stage.buffers.map(_.dataType)
    val keysFrom = 1 + lateTypes.length
    val boundsFrom = keysFrom + stage.keys.length
    val buffersFrom = boundsFrom + (if (stage.isSession) 2 else 0)
    def slice(from: Int, until: Int): UnsafeProjection =
      UnsafeProjection.create(
        (from until until).map(i => BoundReference(i, columns(i), nullable = true)))
    val toKey = slice(keysFrom, boundsFrom)
    val toAccumulator = slice(buffersFrom, columns.length)
    val key = new Slice
    val accumulator = new Slice
    val panes = mutable.LongMap.empty[PaneBuffer]
    val bounds = new SessionBounds
    val toRow = UnsafeProjection.create(Exchanged.types)
    var held = 0L

    def exchanged(group: Int, kind: Int, pane: Long, payload: Array[Byte]): InternalRow =
      toRow(InternalRow(KeyGroups.idOf(group), kind, pane, judgedBy, payload))

    def drain(): Iterator[InternalRow] = {
      val full = panes.toSeq.sortBy(_._1)
      panes.clear()
      held = 0L
      full.iterator.flatMap { case (pane, buffer) =>
        buffer.segments(stage.keyGroups).map { case (group, segment) =>
          exchanged(group, Exchanged.Segment, pane, segment)
        }
      }
    }

    /** What the row carries if it is late, else null. */
    def late(row: InternalRow): Array[Byte] = stage.lateColumn match {
      case LateColumn.Absent => null
      case LateColumn.Numbers if row.getLong(1) == 0L => null
      case LateColumn.Numbers => LateBytes.withoutRow(row.getLong(1), bounds.first)
      case LateColumn.Rows => row.getBinary(1)
    }

    /** Takes a row in; answers what is to go out at once. */
    def take(row: InternalRow): Iterator[InternalRow] = {
      UnsafeRows.slice(toKey(row), key)
      UnsafeRows.slice(toAccumulator(row), accumulator)
      if (stage.isSession) {
        val shift = stage.windows.shift
        bounds.set(row.getLong(boundsFrom) - shift, row.getLong(boundsFrom + 1) - shift, judgedBy)
      }
      val carried = late(row)
      if (carried != null) {
        val group = KeyGroups.groupOf(LateRecord.hash(key), stage.keyGroups)
        val record = LateRecord.write(carried, key, accumulator)
        Iterator.single(exchanged(group, Exchanged.Late, row.getLong(0), record))
      } else {
        val buffer = panes.getOrElseUpdate(row.getLong(0), new PaneBuffer(stage.isSession))
        val before = buffer.size
        if (stage.isSession) buffer.add(key, bounds, accumulator)
        else buffer.add(key, accumulator)
        held += buffer.size - before
        if (held > Packing.MaxHeld) drain() else Iterator.empty
      }
    }

    rows.flatMap(take) ++ drain() ++ Iterator(exchanged(0, Exchanged.Counts, 0L, counts.take()))
  }
}

object Packing {

  /** Bytes of records that a task holds before it sends segments on. */
  val MaxHeld: Long = 64L << 20
}

/** The records of one pane as they come, to be handed out sorted and cut by key group. */
final class PaneBuffer(withBounds: Boolean) {
  // Sorting moves longs, not records: the upper 40 bits of a record's hash and its index, which is
  // how 64-bit hashes and 2^24 records fit into a primitive sort (benchmarks/jmh, PackBenchmark).
  private val IndexBits = 24
  private val IndexMask = (1L << IndexBits) - 1

  private var bytes = new Array[Byte](1 << 12)
  private var view = little(bytes)
  private var position = 0
  private var offsets = new Array[Int](64)
  private var hashes = new Array[Long](64)
  private var records = 0

  private val writer = new SegmentWriter
  private val key = new Slice
  private val accumulator = new Slice
  private val bounds = new SessionBounds

  def size: Long = position.toLong

  private def little(array: Array[Byte]) = ByteBuffer.wrap(array).order(ByteOrder.LITTLE_ENDIAN)

  def add(key: Slice, accumulator: Slice): Unit =
    copy(record(key, accumulator.length), accumulator)

  def add(key: Slice, bounds: SessionBounds, accumulator: Slice): Unit = {
    val at = record(key, SessionBounds.Size + accumulator.length)
    bounds.write(view, at)
    copy(at + SessionBounds.Size, accumulator)
  }

  private def copy(at: Int, accumulator: Slice): Unit =
    System.arraycopy(accumulator.bytes, accumulator.offset, bytes, at, accumulator.length)

  private def record(key: Slice, accumulatorLength: Int): Int = {
    val size = 8 + key.length + accumulatorLength
    if (position + size > bytes.length) {
      bytes = java.util.Arrays.copyOf(bytes, math.max(bytes.length * 2, position + size))
      view = little(bytes)
    }
    if (records == offsets.length) {
      offsets = java.util.Arrays.copyOf(offsets, records * 2)
      hashes = java.util.Arrays.copyOf(hashes, records * 2)
    }
    view.putInt(position, key.length).putInt(position + 4, accumulatorLength)
    System.arraycopy(key.bytes, key.offset, bytes, position + 8, key.length)
    offsets(records) = position
    hashes(records) = KeyGroups.hash(view, position + 8, key.length)
    records += 1
    val at = position + 8 + key.length
    position += size
    at
  }

  /** The segments, each with its key group. */
  def segments(keyGroups: Int): Iterator[(Int, Array[Byte])] = {
    val order = sorted()
    def groupAt(i: Int): Int = KeyGroups.groupOf(hashes(order(i)), keyGroups)
    new Iterator[(Int, Array[Byte])] {
      private var at = 0
      override def hasNext: Boolean = at < records
      override def next(): (Int, Array[Byte]) = {
        val group = groupAt(at)
        while (at < records && !writer.isFull && groupAt(at) == group) {
          append(order(at))
          at += 1
        }
        (group, writer.take())
      }
    }
  }

  private def append(record: Int): Unit = {
    val at = offsets(record) + 8
    val keyLength = view.getInt(at - 8)
    val accumulatorAt = at + keyLength
    val length = view.getInt(at - 4)
    key.set(bytes, at, keyLength)
    if (withBounds) {
      bounds.set(
        view.getLong(accumulatorAt),
        view.getLong(accumulatorAt + 8),
        view.getLong(accumulatorAt + 16))
      accumulator.set(bytes, accumulatorAt + SessionBounds.Size, length - SessionBounds.Size)
      writer.append(hashes(record), key, bounds, accumulator)
    } else {
      accumulator.set(bytes, accumulatorAt, length)
      writer.append(hashes(record), key, accumulator)
    }
  }

  /** The indexes of the records in order of (hash, key). */
  private def sorted(): Array[Int] = {
    val packed = new Array[Long](records)
    var i = 0
    while (i < records) {
      packed(i) = (hashes(i) & ~IndexMask) | i
      i += 1
    }
    java.util.Arrays.sort(packed)
    val order = packed.map(p => (p & IndexMask).toInt)
    settleTies(order)
    order
  }

  /** Hashes that agree in their upper bits are put right by insertion; there are hardly any. */
  private def settleTies(order: Array[Int]): Unit = {
    var i = 1
    while (i < order.length) {
      var j = i
      while (j > 0 && compare(order(j - 1), order(j)) > 0) {
        val swapped = order(j - 1)
        order(j - 1) = order(j)
        order(j) = swapped
        j -= 1
      }
      i += 1
    }
  }

  private def compare(a: Int, b: Int): Int =
    if (hashes(a) != hashes(b)) java.lang.Long.compare(hashes(a), hashes(b))
    else {
      val atA = offsets(a)
      val atB = offsets(b)
      java.util.Arrays.compareUnsigned(
        bytes,
        atA + 8,
        atA + 8 + view.getInt(atA),
        bytes,
        atB + 8,
        atB + 8 + view.getInt(atB))
    }
}

/** A late row over the exchange: key length, accumulator length, key, accumulator, what it
  * carried.
  */
object LateRecord {
  def hash(key: Slice): Long =
    KeyGroups.hash(
      ByteBuffer.wrap(key.bytes).order(ByteOrder.LITTLE_ENDIAN),
      key.offset,
      key.length)

  def write(carried: Array[Byte], key: Slice, accumulator: Slice): Array[Byte] = {
    val out = ByteBuffer.allocate(8 + key.length + accumulator.length + carried.length)
    out.putInt(key.length).putInt(accumulator.length)
    out.put(key.bytes, key.offset, key.length)
    out.put(accumulator.bytes, accumulator.offset, accumulator.length)
    out.put(carried).array
  }

  def row(record: Array[Byte]): LateRow = {
    val in = ByteBuffer.wrap(record)
    val key = new Slice().set(record, 8, in.getInt(0))
    val accumulator = new Slice().set(record, key.offset + key.length, in.getInt(4))
    val carriedAt = accumulator.offset + accumulator.length
    new LateRow(hash(key), key, LateBytes.time(record, carriedAt), accumulator)
  }

  def isPartly(late: LateRow): Boolean = LateBytes.reason(carried(late)) == LateBytes.Partly

  def carried(late: LateRow): Slice = {
    val record = late.accumulator.bytes
    val from = late.accumulator.offset + late.accumulator.length
    new Slice().set(record, from, record.length - from)
  }
}
