package org.apache.spark.sql.transom.function

import java.nio.ByteBuffer
import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateMutableProjection
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.AggregationIterator
import org.apache.spark.sql.types.DataType

/** `function(DISTINCT ...)` as an aggregate that can be merged.
  *
  * The accumulator is the set of distinct inputs. The function runs over this set once, when a
  * window fires. Spark plans DISTINCT with two exchanges, but windows that are merged from slices
  * have only one exchange.
  *
  * The set is a map from the identity of an input, compared by its bytes, to the input. The two
  * differ for collated strings: "A" and "a" may have the same identity.
  */
case class DistinctAggregate(
    function: AggregateFunction,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[util.HashMap[UnsafeRow, UnsafeRow]] {
  private type Inputs = util.HashMap[UnsafeRow, UnsafeRow]

  override def children: Seq[Expression] = function.children
  override def nullable: Boolean = function.nullable
  override def dataType: DataType = function.dataType
  override def prettyName: String = function.prettyName

  private lazy val inputs = function.children.flatMap {
    case order: SortOrder => Seq(order.child)
    case constant if constant.foldable => Nil
    case input => Seq(input)
  }
  private lazy val identities = inputs.map(CollationKey.injectCollationKey)
  private lazy val sameAsInputs = identities == inputs
  @transient private lazy val toInput = UnsafeProjection.create(inputs)
  @transient private lazy val toIdentity = UnsafeProjection.create(identities)
  @transient private lazy val run = new DistinctEvaluation(function, inputs)

  override def createAggregationBuffer(): Inputs = new Inputs

  override def update(set: Inputs, row: InternalRow): Inputs = {
    val identity = if (sameAsInputs) toInput(row) else toIdentity(row)
    if (!set.containsKey(identity)) {
      val own = identity.copy()
      set.put(own, if (sameAsInputs) own else toInput(row).copy())
    }
    set
  }

  override def merge(set: Inputs, other: Inputs): Inputs = {
    set.putAll(other)
    set
  }

  override def eval(set: Inputs): Any = run(set.values)

  override def serialize(set: Inputs): Array[Byte] = {
    val columns = if (sameAsInputs) Seq(set.keySet) else Seq(set.keySet, set.values)
    val size = 4 + columns.map(_.stream.mapToInt(UnsafeRecords.sizeOf(_)).sum).sum
    val out = ByteBuffer.allocate(size).putInt(set.size)
    set.forEach { (identity, input) =>
      UnsafeRecords.write(identity, out)
      if (!sameAsInputs) UnsafeRecords.write(input, out)
    }
    out.array
  }

  override def deserialize(bytes: Array[Byte]): Inputs = {
    val in = ByteBuffer.wrap(bytes)
    val count = in.getInt()
    val set = new Inputs(count * 2)
    (0 until count).foreach { _ =>
      val identity = read(in)
      set.put(identity, if (sameAsInputs) identity else read(in))
    }
    set
  }

  private def read(in: ByteBuffer): UnsafeRow = UnsafeRecords.read(in, inputs.length)

  override def withNewMutableAggBufferOffset(offset: Int): DistinctAggregate =
    copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): DistinctAggregate =
    copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): DistinctAggregate =
    copy(function = function.withNewChildren(newChildren).asInstanceOf[AggregateFunction])
}

/** Evaluates a function over a set of rows with Spark's base class of aggregation iterators. */
private final class DistinctEvaluation(function: AggregateFunction, inputs: Seq[Expression]) {
  private val columns = inputs.map(e => AttributeReference("input", e.dataType, e.nullable)())
  private def overColumns(child: Expression): Expression = child match {
    case order: SortOrder =>
      order.copy(child = overColumns(order.child), sameOrderExpressions = Nil)
    case _ =>
      inputs.indexWhere(_ eq child) match {
        case -1 => child
        case i => columns(i)
      }
  }
  private val aggregate = AggregateExpression(
    function.mapChildren(overColumns).asInstanceOf[AggregateFunction],
    Complete,
    isDistinct = false)
  private val result = aggregate.resultAttribute

  private val iterator = new Iterator

  def apply(rows: util.Collection[UnsafeRow]): Any =
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
        GenerateMutableProjection.generate(_, _)) {
    private val noKey = UnsafeProjection.create(Array.empty[DataType])(InternalRow.empty)

    override def hasNext: Boolean = false
    override def next(): UnsafeRow =
      throw new NoSuchElementException("this iterator returns no rows: call over instead")

    def over(rows: util.Collection[UnsafeRow]): InternalRow = {
      val types = aggregateFunctions.toSeq.flatMap(_.aggBufferAttributes).map(_.dataType)
      val buffer = new SpecificInternalRow(types)
      initializeBuffer(buffer)
      rows.forEach(row => processRow(buffer, row))
      generateOutput(noKey, buffer)
    }
  }
}
