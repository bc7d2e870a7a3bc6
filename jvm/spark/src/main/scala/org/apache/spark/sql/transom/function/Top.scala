package org.apache.spark.sql.transom.function

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{SupportsOrderingWithinGroup, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.transom.schema.{RowReader, StateSchemas}
import org.apache.spark.sql.types._

import transom.engine.setting.Constants
import transom.engine.state.UnknownStateVersion

/** The first rows of a window in an order, with their ranks.
  *
  * Rows that are equal in the order share a rank. The next rank is one more than the number of
  * rows before it: 1, 2, 2, 4. All rows with a rank up to `k` are results, so ties may add rows.
  * The accumulator holds only rows that may be results.
  *
  * Rows in an accumulator are read by name if another run has written them, see `RowReader`.
  *
  * @param row
  *   the row, a struct; results have its fields and the rank
  * @param order
  *   the order of the rows. SQL sets it after it has made the function, by `WITHIN GROUP`.
  * @param stored
  *   the schemas with which accumulators in the state were written; none if there is no state
  * @param index
  *   the index of this function among the functions `top` of its operator
  */
final case class Top(
    k: Int,
    row: Expression,
    order: Seq[SortOrder],
    stored: Option[StateSchemas] = None,
    index: Int = 0,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[TopRows]
    with SupportsOrderingWithinGroup {
  // The time of a result is its window, so no column of a row has a watermark.
  private lazy val fields = StructType(rowType.map { field =>
    val metadata = new MetadataBuilder().withMetadata(field.metadata)
    field.copy(metadata = metadata.remove(EventTimeWatermark.delayKey).build())
  })

  /** The type of a row. */
  def rowType: StructType = row.dataType.asInstanceOf[StructType]

  /** The function over a state that was written with some schemas. */
  def over(schemas: StateSchemas, at: Int): Top = copy(stored = Some(schemas), index = at)

  override def children: Seq[Expression] = row +: order

  // Plans print this text.
  override protected def stringArgs: Iterator[Any] = Iterator(k, row, order)

  override def nullable: Boolean = false
  override lazy val dataType: DataType =
    ArrayType(fields.add(Top.Rank, IntegerType, nullable = false), containsNull = false)
  override def prettyName: String = "transom_top"
  // From Python the rows are all columns, so their names say nothing.
  override def sql(isDistinct: Boolean): String =
    s"$prettyName($k) WITHIN GROUP (ORDER BY ${order.map(_.sql).mkString(", ")})"

  override def withOrderingWithinGroup(ordering: Seq[SortOrder]): Top =
    copy(order = ordering)
  override def orderingFilled: Boolean = order.nonEmpty
  override def isOrderingMandatory: Boolean = true
  override def isDistinctSupported: Boolean = false

  // A record holds the columns of the order, and then the row.
  @transient private lazy val toRecord = UnsafeProjection.create(order.map(_.child) :+ row)
  @transient private lazy val ordering = RowOrdering.create(
    order.zipWithIndex.map { case (column, i) =>
      column.copy(child = BoundReference(i, column.child.dataType, nullable = true))
    },
    Nil)

  override def createAggregationBuffer(): TopRows = new TopRows(k, ordering)

  override def update(rows: TopRows, input: InternalRow): TopRows = {
    val record = toRecord(input)
    if (rows.accepts(record)) rows.add(record.copy())
    rows
  }

  override def merge(rows: TopRows, other: TopRows): TopRows = {
    other.foreach((record, _) => if (rows.accepts(record)) rows.add(record))
    rows
  }

  override def eval(rows: TopRows): Any = {
    val results = Array.newBuilder[Any]
    rows.foreach { (record, rank) =>
      val values = record.getStruct(order.length, fields.length)
      results += new GenericInternalRow(
        fields.indices.map(i => values.get(i, fields(i).dataType)).toArray[Any] :+ rank)
    }
    new GenericArrayData(results.result())
  }

  override def serialize(rows: TopRows): Array[Byte] = {
    var size = Top.HeaderSize
    rows.foreach((record, _) => size += UnsafeRecords.sizeOf(record))
    val out = ByteBuffer.allocate(size).put(Top.Version).putInt(schema)
    rows.foreach((record, _) => UnsafeRecords.write(record, out))
    out.array
  }

  override def deserialize(bytes: Array[Byte]): TopRows = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Top.Version)
      throw new UnknownStateVersion("the rows of top()", version, Top.Version)
    val written = in.getInt()
    val rows = createAggregationBuffer()
    while (in.hasRemaining) {
      val record = UnsafeRecords.read(in, order.length + 1)
      rows.add(if (written == schema) record else read(record, written))
    }
    rows
  }

  private def schema: Int = stored.fold(0)(_.current)

  @transient private lazy val readers = mutable.HashMap.empty[Int, RowReader]
  @transient private lazy val toCurrent =
    UnsafeProjection.create((order.map(_.child) :+ row).map(_.dataType).toArray)

  /** Reads a record that was written with another schema. The columns of the order keep their
    * types.
    */
  private def read(record: UnsafeRow, written: Int): UnsafeRow = {
    val reader = readers.getOrElseUpdate(written, stored.get.topReader(written, index))
    val values = order.zipWithIndex.map { case (column, i) =>
      record.get(i, column.child.dataType)
    }
    val own = record.getStruct(order.length, stored.get(written).tops(index).length)
    toCurrent(InternalRow.fromSeq(values :+ reader.values(own))).copy()
  }

  override def withNewMutableAggBufferOffset(offset: Int): Top =
    copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): Top =
    copy(inputAggBufferOffset = offset)
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Top =
    copy(row = newChildren.head, order = newChildren.tail.map(_.asInstanceOf[SortOrder]))
}

/** Builds [[Top]] from the arguments of a call by name. */
object Top {

  /** The name by which the Python package calls the function. The arguments are `k`, the row, and
    * the columns of the order.
    */
  val Name: String = Constants.TopFunction

  /** The column with the rank of a row. */
  final val Rank = Constants.RankColumn

  // An accumulator begins with its version byte and the number of its schema.
  private final val Version: Byte = 1
  private final val HeaderSize = 5

  def of(arguments: Seq[Expression]): Expression = {
    val Literal(k: Int, _) +: row +: order = arguments: @unchecked
    Top(
      k,
      row,
      order.map {
        case column: SortOrder => column
        case column => SortOrder(column, Ascending)
      })
  }
}

/** The records of a window that have a rank up to `k`, in their order. */
final class TopRows(k: Int, ordering: Ordering[InternalRow]) {
  private val ties = new util.TreeMap[UnsafeRow, util.ArrayList[UnsafeRow]](ordering)
  private var count = 0

  /** Whether a record has a rank up to `k` among the records that were added. */
  def accepts(record: UnsafeRow): Boolean =
    count < k || ordering.compare(record, ties.lastKey) <= 0

  /** Adds a record, and removes the records whose rank is now above `k`. */
  def add(record: UnsafeRow): Unit = {
    ties.computeIfAbsent(record, _ => new util.ArrayList(1)).add(record)
    count += 1
    while (count - ties.lastEntry.getValue.size >= k)
      count -= ties.pollLastEntry().getValue.size
  }

  /** Calls `f` with each record and its rank. */
  def foreach(f: (UnsafeRow, Int) => Unit): Unit = {
    var rank = 1
    ties.values.forEach { tied =>
      tied.forEach(f(_, rank))
      rank += tied.size
    }
  }
}
