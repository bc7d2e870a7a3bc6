package org.apache.spark.sql.transom

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.unsafe.Platform

import transom.engine.log.ByteRange

/** Spark's own aggregates as they take in rows: its base class of aggregation iterators in
  * `Partial` mode.
  *
  * An accumulator is a buffer's row. Those of fixed width are updated in place, in the bytes of a
  * table; of others the table holds the number of a row of objects that is kept here.
  */
final class PartialAggregation(operatorPlan: WindowOperatorPlan, input: Seq[Attribute])
    extends AggregationIterator(
      0,
      Nil,
      input,
      operatorPlan.accumulated.map(_.copy(mode = Partial)),
      Nil,
      0,
      Nil,
      (expressions, input) => GenerateMutableProjection.generate(expressions, input)) {
  private val bufferTypes =
    aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes).map(_.dataType)
  private val noKey = new UnsafeRow(0)
  private val bytes = new ByteRange

  /** Whether accumulators are updated where they lie. */
  val inPlace: Boolean = bufferTypes.forall(UnsafeRow.isMutable)

  private val buffer = new UnsafeRow(bufferTypes.length)
  private val objects = ArrayBuffer.empty[InternalRow]
  private val scratch = newObjects()

  /** What an accumulator in a table is before a row has come. */
  val initial: Array[Byte] =
    if (inPlace) generateOutput(noKey, scratch).copy().getBytes else new Array[Byte](8)

  override def hasNext: Boolean = false
  override def next(): UnsafeRow = throw new NoSuchElementException("used as a fold only")

  /** Takes a row into the accumulator at `offset` of a table's array. */
  def update(table: Array[Byte], offset: Int, row: InternalRow): Unit = {
    val at = UnsafeRows.ArrayOffset + offset
    if (inPlace) {
      buffer.pointTo(table, at, initial.length)
      processRow(buffer, row)
    } else {
      val number = Platform.getInt(table, at)
      if (number > 0) processRow(objects(number - 1), row)
      else {
        objects += newObjects()
        Platform.putInt(table, at, objects.length)
        processRow(objects.last, row)
      }
    }
  }

  /** An accumulator of a table as it leaves the task; valid until the next. */
  def encode(accumulator: ByteRange): ByteRange =
    if (inPlace) accumulator
    else encode(objects(Platform.getInt(accumulator.bytes, UnsafeRows.offset(accumulator)) - 1))

  /** The accumulator of a single row; valid until the next. */
  def accumulatorOf(row: InternalRow): ByteRange = {
    initializeBuffer(scratch)
    processRow(scratch, row)
    encode(scratch)
  }

  /** An accumulator by itself, of no row yet. */
  def create(): InternalRow = if (inPlace) read(initial.clone) else newObjects()

  /** An accumulator that is updated in place, from its bytes, which become its own. */
  def read(bytes: Array[Byte]): UnsafeRow = {
    val row = new UnsafeRow(bufferTypes.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  /** Takes a row into an accumulator by itself. */
  def update(accumulator: InternalRow, row: InternalRow): Unit = processRow(accumulator, row)

  /** Forgets the accumulators of tables that have left. */
  def clear(): Unit = objects.clear()

  /** An accumulator by itself as bytes, valid until the next. It may not be used again. */
  def encode(accumulator: InternalRow): ByteRange = accumulator match {
    case row: UnsafeRow => UnsafeRows.bytesOf(row, bytes)
    case other => UnsafeRows.bytesOf(generateOutput(noKey, other), bytes)
  }

  private def newObjects(): InternalRow = {
    val row = new SpecificInternalRow(bufferTypes)
    initializeBuffer(row)
    row
  }
}
