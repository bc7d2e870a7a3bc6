package org.apache.spark.sql.transom.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.state.{AccumulatorMerger, ByteRange}

/** Merges serialized accumulators of Spark's aggregate functions, and computes their results.
  *
  * Spark's base class of aggregation iterators merges in `Final` mode. Accumulators of fixed
  * width are merged in place, in the bytes of a row. Other accumulators are deserialized into
  * objects.
  *
  * Not thread-safe. The next call overwrites the rows and ranges that a call returns.
  */
final class FinalAggregation(operatorPlan: WindowOperatorPlan)
    extends AggregationIterator(
      0,
      Nil,
      operatorPlan.buffers,
      operatorPlan.finalFunctions,
      operatorPlan.accumulatedResults,
      0,
      Nil,
      GenerateMutableProjection.generate(_, _))
    with AccumulatorMerger[WindowResultRow] {

  private val bufferAttributes = aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes)
  private val bufferTypes = bufferAttributes.map(_.dataType)
  private val declarative = aggregateFunctions.forall(_.isInstanceOf[DeclarativeAggregate])
  private val inPlace = declarative && bufferTypes.forall(UnsafeRow.isMutable)
  private val typed = aggregateFunctions.flatMap {
    case f: TypedImperativeAggregate[_] => Some(f)
    case _ => None
  }

  // The first accumulator of a key, not copied. Most keys of a firing have only one accumulator.
  private val single = new UnsafeRow(operatorPlan.buffers.length)
  private var isSingle = false
  private val incoming = new UnsafeRow(operatorPlan.buffers.length)
  private val mutable = new UnsafeRow(bufferTypes.length)
  mutable.pointTo(new Array[Byte](8), 8)
  private val objects = new SpecificInternalRow(bufferTypes)
  private lazy val toUnsafe = UnsafeProjection.create(bufferTypes.toArray)
  private val bytes = new ByteRange

  private val evaluate = evaluation(operatorPlan.aggregates)

  private val keyRow = new UnsafeRow(operatorPlan.keys.length)
  private val resultRow =
    new WindowResultRow(operatorPlan.output, keyRow, evaluate.results)
  // A single window has a log of its own, which starts no member.
  resultRow.windowId = operatorPlan.windowIds.headOption.orNull

  override def startFiring(watermark: Long): Unit = resultRow.watermark = watermark

  override def startMember(index: Int): Unit = resultRow.windowId = operatorPlan.windowIds(index)

  override def hasNext: Boolean = false
  override def next(): UnsafeRow =
    throw new NoSuchElementException(
      "this iterator returns no rows: call start and merge instead")

  override def start(accumulator: ByteRange): Unit = {
    single.pointTo(accumulator.bytes, UnsafeRows.offset(accumulator), accumulator.length)
    isSingle = true
  }

  override def merge(accumulator: ByteRange): Unit = {
    incoming.pointTo(accumulator.bytes, UnsafeRows.offset(accumulator), accumulator.length)
    processRow(buffer(), incoming)
  }

  override def accumulator: ByteRange =
    if (isSingle) UnsafeRows.bytesOf(single, bytes)
    else if (inPlace) UnsafeRows.bytesOf(mutable, bytes)
    else {
      typed.foreach(_.serializeAggregateBufferInPlace(objects))
      UnsafeRows.bytesOf(toUnsafe(objects), bytes)
      // The objects hold serialized values now, so a later `result` must start from the bytes.
      start(bytes)
      bytes
    }

  override def result(key: ByteRange, windowStart: Long, windowEnd: Long): WindowResultRow = {
    evaluated(if (isSingle && declarative) single else buffer())
    keyRow.pointTo(key.bytes, UnsafeRows.offset(key), key.length)
    resultRow.start = windowStart
    resultRow.end = windowEnd
    resultRow
  }

  /** The results of the functions for an accumulator, valid until the next call. */
  def evaluated(accumulator: InternalRow): InternalRow = evaluate(accumulator)

  /** Returns an evaluation of some of the functions.
    *
    * @param some
    *   a subset of `operatorPlan.accumulated`
    */
  def evaluation(some: Seq[AggregateExpression]): Evaluation =
    new Evaluation(
      some.map(f => aggregateFunctions(operatorPlan.accumulated.indexOf(f))),
      bufferAttributes)

  /** Merges the bytes of an accumulator into an accumulator that the caller holds. */
  def merge(accumulator: InternalRow, other: ByteRange): Unit = {
    incoming.pointTo(other.bytes, UnsafeRows.offset(other), other.length)
    processRow(accumulator, incoming)
  }

  /** The accumulator to merge into. When a key has a second accumulator, the first one is copied
    * into it.
    */
  private def buffer(): InternalRow = {
    val target = if (inPlace) mutable else objects
    if (isSingle) {
      isSingle = false
      if (inPlace) mutable.copyFrom(single)
      else {
        initializeBuffer(objects)
        processRow(objects, single)
      }
    }
    target
  }
}

/** Computes the results of aggregate functions from an accumulator.
  *
  * Not thread-safe. Each call overwrites `results`.
  *
  * @param buffers
  *   columns of the accumulator
  */
final class Evaluation(functions: Seq[AggregateFunction], buffers: Seq[Attribute]) {

  /** The results of the latest accumulator. */
  val results = new SpecificInternalRow(functions.map(_.dataType))
  private val evaluate = GenerateMutableProjection.generate(
    functions.map {
      case f: DeclarativeAggregate => f.evaluateExpression
      case _ => NoOp
    },
    buffers)
  evaluate.target(results)
  private val imperative = functions.zipWithIndex.flatMap {
    case (f: ImperativeAggregate, i) => Some((f, i))
    case _ => None
  }

  def apply(accumulator: InternalRow): InternalRow = {
    evaluate(accumulator)
    imperative.foreach { case (f, i) => results.update(i, f.eval(accumulator)) }
    results
  }
}
