package org.apache.spark.sql.transom.exchange

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** The format of rows between the map side and the operator.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       kind of the payload
  * position   position in the order of arrival
  * watermark  the watermark by which the rows are late, in the engine's convention; windows that
  *            end by it fire before waiting segments are added; with a watermark, the watermark
  *            without the idle timeout
  * payload    a segment batch, a chunk of rows, a dead letter, counts, the watermark by which
  *            windows fire, the latest arrival of a task, the sum of the rows that stay with a
  *            task, or empty for a tick
  * }}}
  *
  * The user's order columns follow, if there are any.
  */
object ExchangeFormat {
  final val Group = 0
  final val Kind = 1
  final val Position = 2
  final val LateWatermark = 3
  final val Payload = 4

  final val Segments = 0
  final val Rows = 1
  final val DeadLetter = 2
  final val Counts = 3
  final val Tick = 4
  final val Watermark = 5
  final val WaitingSegments = 6
  final val LatestArrival = 7
  final val ReadRows = 8

  private val columns = Seq(
    "group" -> IntegerType,
    "kind" -> IntegerType,
    "position" -> LongType,
    "watermark" -> LongType,
    "payload" -> BinaryType)

  /** The watermark that a row of this kind brings, in the engine's convention. */
  def watermark(row: InternalRow): Long = ByteBuffer.wrap(row.getBinary(Payload)).getLong()

  /** Attributes of the exchange format, including the user's order columns. */
  def attributes(order: Seq[Attribute]): Seq[Attribute] =
    columns.map { case (name, dataType) =>
      AttributeReference(name, dataType, nullable = false)()
    } ++ order.map(_.newInstance().withNullability(true))

  /** Whether an order column holds numbers of 64 bits. */
  def isNumber(column: Attribute): Boolean =
    column.dataType == LongType || column.dataType == TimestampType

  /** The sort order by key group, with any order within a key group. */
  def byGroup(attributes: Seq[Attribute]): Seq[SortOrder] =
    Seq(SortOrder(attributes(Group), Ascending))

  /** The sort order by key group, and by arrival within a key group. */
  def inOrder(attributes: Seq[Attribute]): Seq[SortOrder] =
    (attributes(Group) +: attributes.drop(columns.length) :+ attributes(Position))
      .map(SortOrder(_, Ascending))

  /** A projection from the values of an exchange row to an `UnsafeRow`. The projection reuses
    * this row.
    */
  def projection(order: Seq[Attribute]): UnsafeProjection =
    InterpretedUnsafeProjection.createProjection(
      (columns.map(_._2) ++ order.map(_.dataType)).zipWithIndex.map { case (dataType, i) =>
        BoundReference(i, dataType, nullable = i >= columns.length)
      })
}
