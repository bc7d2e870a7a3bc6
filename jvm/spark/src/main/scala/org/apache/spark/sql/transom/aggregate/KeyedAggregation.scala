package org.apache.spark.sql.transom.aggregate

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.transom.function.{DistinctAggregate, Top}
import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.keyed.contract.WindowAggregation
import transom.engine.state.ByteRange

/** Spark's aggregate functions for the operator of the keyed layout.
  *
  * An accumulator is a row of Spark's aggregation buffers. The functions are updated with rows,
  * or merged with accumulators if the map side combines rows. Not thread-safe.
  */
final class KeyedAggregation(operatorPlan: WindowOperatorPlan)
    extends WindowAggregation[UnsafeRow, InternalRow] {
  private val partialAggregation = new PartialAggregation(operatorPlan, operatorPlan.record)
  private val finalAggregation = new FinalAggregation(operatorPlan)
  private val range = new ByteRange
  // Spark adds no row to an accumulator that it has read or merged, and some sketches fail then.
  private val addsRows = operatorPlan.accumulated.map(_.aggregateFunction).forall {
    case _: Collect[_] | _: DistinctAggregate | _: Top => true
    case _: TypedImperativeAggregate[_] => false
    case _ => true
  }
  private val toResult =
    UnsafeProjection.create(operatorPlan.aggregates.map(_.resultAttribute.dataType).toArray)

  override def weightOf(row: UnsafeRow): Int =
    if (partialAggregation.inPlace) 0 else row.getSizeInBytes

  override def create(): InternalRow = partialAggregation.create()

  override def add(accumulator: InternalRow, row: UnsafeRow): InternalRow = {
    if (operatorPlan.hasMapSideCombine)
      finalAggregation.merge(accumulator, UnsafeRows.bytesOf(row, range))
    else if (addsRows) partialAggregation.update(accumulator, row)
    else finalAggregation.merge(accumulator, partialAggregation.accumulatorOf(row))
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

  /** The results of the functions for an accumulator, valid until the next call. */
  def evaluated(accumulator: InternalRow): InternalRow = finalAggregation.evaluated(accumulator)

  /** Returns an evaluation of some of the functions. */
  def evaluation(some: Seq[AggregateExpression]): Evaluation = finalAggregation.evaluation(some)
}
