package org.apache.spark.sql.transom.aggregate

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.unsafe.Platform

import transom.engine.state.ByteRange

/** Updates accumulators with input rows. Uses Spark's base class of aggregation iterators in
  * `Partial` mode.
  *
  * An accumulator is a row of aggregation buffers. If all its columns have a fixed width, it is
  * updated in place, in the bytes of a table. Otherwise the table holds a number, counted from 1,
  * and this class holds the row of objects with that number.
  *
  * Holds mutable buffers: create one per task.
  */
final class PartialAggregation(operatorPlan: WindowOperatorPlan, input: Seq[Attribute])
    extends AggregationIterator(
      0,
      Nil,
      input,
      operatorPlan.partialFunctions,
      Nil,
      0,
      Nil,
      GenerateMutableProjection.generate(_, _)) {
  private val bufferTypes =
    aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes).map(_.dataType)
  private val noKey = new UnsafeRow(0)
  private val bytes = new ByteRange

  /** Whether accumulators are updated in place, in the bytes of a table. */
  val inPlace: Boolean = bufferTypes.forall(UnsafeRow.isMutable)

  private val buffer = new UnsafeRow(bufferTypes.length)
  private val objects = ArrayBuffer.empty[InternalRow]
  private val scratch = newObjects()

  /** The bytes of an accumulator in a table before its first row. */
  val initial: Array[Byte] =
    if (inPlace) generateOutput(noKey, scratch).copy().getBytes else new Array[Byte](8)

  override def hasNext: Boolean = false
  override def next(): UnsafeRow =
    throw new NoSuchElementException("this iterator returns no rows: call update instead")

  /** Updates the accumulator at `offset` of a table's array with a row. */
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

  /** Encodes an accumulator of a table for the exchange. The result is valid until the next call.
    * An accumulator of objects can be encoded only once.
    */
  def encode(accumulator: ByteRange): ByteRange =
    if (inPlace) accumulator
    else encode(objects(Platform.getInt(accumulator.bytes, UnsafeRows.offset(accumulator)) - 1))

  /** Returns the encoded accumulator of a single row. The result is valid until the next call. */
  def accumulatorOf(row: InternalRow): ByteRange = {
    initializeBuffer(scratch)
    processRow(scratch, row)
    encode(scratch)
  }

  /** Creates an empty accumulator outside of a table. */
  def create(): InternalRow = if (inPlace) read(initial.clone) else newObjects()

  /** Wraps the bytes of an accumulator that is updated in place. The accumulator shares the
    * array.
    */
  def read(bytes: Array[Byte]): UnsafeRow = {
    val row = new UnsafeRow(bufferTypes.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  /** Updates an accumulator outside of a table with a row. */
  def update(accumulator: InternalRow, row: InternalRow): Unit = processRow(accumulator, row)

  /** Removes the objects of all tables. Call only when no table holds an accumulator. */
  def clear(): Unit = objects.clear()

  /** Encodes an accumulator outside of a table. The result is valid until the next call, and the
    * accumulator must not be used again.
    */
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
