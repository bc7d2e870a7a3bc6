package org.apache.spark.sql.transom

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression

import transom.engine.keyed.WindowAggregation
import transom.engine.log.ByteRange

/** Spark's own aggregates as the per-key operator folds rows by them: an accumulator is a
  * buffer's row. What it adds are records of the operator or, where rows come folded,
  * accumulators.
  */
final class KeyedAggregation(operatorPlan: WindowOperatorPlan)
    extends WindowAggregation[UnsafeRow, InternalRow] {
  private val partialAggregation = new PartialAggregation(operatorPlan, operatorPlan.record)
  private val finalAggregation = new FinalAggregation(operatorPlan)
  private val range = new ByteRange
  private val toResult =
    UnsafeProjection.create(operatorPlan.aggregates.map(_.resultAttribute.dataType).toArray)

  /** How much larger an accumulator may become by a row. */
  def weightOf(row: UnsafeRow): Int = if (partialAggregation.inPlace) 0 else row.getSizeInBytes

  override def create(): InternalRow = partialAggregation.create()

  override def add(accumulator: InternalRow, row: UnsafeRow): InternalRow = {
    if (operatorPlan.hasMapSideCombine)
      finalAggregation.merge(accumulator, UnsafeRows.bytesOf(row, range))
    else partialAggregation.update(accumulator, row)
    accumulator
  }

  override def merge(accumulator: InternalRow, other: InternalRow): InternalRow = {
    finalAggregation.merge(accumulator, partialAggregation.encode(other))
    accumulator
  }

  override def encode(accumulator: InternalRow): ByteRange =
    partialAggregation.encode(accumulator)

  override def decode(bytes: Array[Byte], offset: Int, length: Int): InternalRow =
    if (partialAggregation.inPlace)
      partialAggregation.read(Arrays.copyOfRange(bytes, offset, offset + length))
    else {
      val accumulator = partialAggregation.create()
      finalAggregation.merge(accumulator, range.set(bytes, offset, length))
      accumulator
    }

  override def result(accumulator: InternalRow): Array[Byte] =
    toResult(evaluated(accumulator)).copy().getBytes

  /** The functions' results, valid until the next. */
  def evaluated(accumulator: InternalRow): InternalRow = finalAggregation.evaluated(accumulator)

  /** What some of the functions make of an accumulator. */
  def evaluation(some: Seq[AggregateExpression]): Evaluation = finalAggregation.evaluation(some)
}
