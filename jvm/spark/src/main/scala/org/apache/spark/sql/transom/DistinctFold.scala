package org.apache.spark.sql.transom

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.types.DataType

/** `function(DISTINCT ...)` as an aggregate that can be merged: the set of distinct inputs, over
  * which the function runs once when a window fires. Spark plans DISTINCT by two exchanges, which
  * a window that is merged from panes cannot have.
  */
case class DistinctFold(
    function: AggregateFunction,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[util.HashSet[UnsafeRow]] {

  override def children: Seq[Expression] = function.children
  override def nullable: Boolean = function.nullable
  override def dataType: DataType = function.dataType
  override def prettyName: String = function.prettyName

  private lazy val inputs = function.children.filterNot(_.foldable)
  @transient private lazy val toRow = UnsafeProjection.create(inputs)
  @transient private lazy val run = new DistinctRun(function, inputs)

  override def createAggregationBuffer(): util.HashSet[UnsafeRow] = new util.HashSet[UnsafeRow]

  override def update(set: util.HashSet[UnsafeRow], row: InternalRow): util.HashSet[UnsafeRow] = {
    val value = toRow(row)
    if (!set.contains(value)) set.add(value.copy())
    set
  }

  override def merge(
      set: util.HashSet[UnsafeRow],
      other: util.HashSet[UnsafeRow]): util.HashSet[UnsafeRow] = {
    set.addAll(other)
    set
  }

  override def eval(set: util.HashSet[UnsafeRow]): Any = run(set)

  override def serialize(set: util.HashSet[UnsafeRow]): Array[Byte] = {
    val size = 4 + set.stream.mapToInt(4 + _.getSizeInBytes).sum
    val out = java.nio.ByteBuffer.allocate(size).putInt(set.size)
    set.forEach { row => out.putInt(row.getSizeInBytes).put(row.getBytes); () }
    out.array
  }

  override def deserialize(bytes: Array[Byte]): util.HashSet[UnsafeRow] = {
    val in = java.nio.ByteBuffer.wrap(bytes)
    val count = in.getInt()
    val set = new util.HashSet[UnsafeRow](count * 2)
    (0 until count).foreach { _ =>
      val own = new Array[Byte](in.getInt())
      in.get(own)
      val row = new UnsafeRow(inputs.length)
      row.pointTo(own, own.length)
      set.add(row)
    }
    set
  }

  override def withNewMutableAggBufferOffset(offset: Int): DistinctFold =
    copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): DistinctFold =
    copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): DistinctFold =
    copy(function = function.withNewChildren(newChildren).asInstanceOf[AggregateFunction])
}

/** One function over the rows of a set, by Spark's base class of aggregation iterators. */
private final class DistinctRun(function: AggregateFunction, inputs: Seq[Expression]) {
  private val columns = inputs.map(e => AttributeReference("input", e.dataType, e.nullable)())
  private val overColumns = function
    .mapChildren(child =>
      inputs.indexWhere(_ eq child) match {
        case -1 => child
        case i => columns(i)
      })
    .asInstanceOf[AggregateFunction]
  private val aggregate = AggregateExpression(overColumns, Complete, isDistinct = false)
  private val result = aggregate.resultAttribute

  private val iterator = new Iterator

  def apply(rows: util.HashSet[UnsafeRow]): Any =
    InternalRow.copyValue(iterator.over(rows).get(0, function.dataType))

  private final class Iterator
      extends AggregationIterator(
        0,
        Nil,
        columns,
        Seq(aggregate),
        Seq(result),
        0,
        Seq(result),
        (expressions, input) => GenerateMutableProjection.generate(expressions, input)) {
    private val noKey = UnsafeProjection.create(Array.empty[DataType])(InternalRow.empty)

    override def hasNext: Boolean = false
    override def next(): UnsafeRow = throw new NoSuchElementException("used as a function only")

    def over(rows: util.HashSet[UnsafeRow]): InternalRow = {
      val types = aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes).map(_.dataType)
      val buffer = new SpecificInternalRow(types)
      initializeBuffer(buffer)
      rows.forEach(row => processRow(buffer, row))
      generateOutput(noKey, buffer)
    }
  }
}
