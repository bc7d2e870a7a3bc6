package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** The rows between the map side and the key groups.
  *
  * {{{
  * group      id of the key group, see KeyGroups.idOf
  * kind       what the payload is
  * place      where it stands in the order of arrival
  * judged_by  the watermark that the rows met
  * payload    a batch of segments, a late row, counts, rows, a dead letter, or nothing with a tick of the clock
  * }}}
  *
  * Behind them stand the columns of a row that tell the order of arrival, if there are any.
  */
object ExchangeFormat {
  final val Group = 0
  final val Kind = 1
  final val Position = 2
  final val LateWatermark = 3
  final val Payload = 4

  final val Segments = 0
  final val Late = 1
  final val Counts = 2
  final val Rows = 3
  final val DeadLetter = 4
  final val Tick = 5

  /** A payload is handed on at this size. A task holds one for each key group, and they are
    * copied and sorted whole: so they are small, and yet take some hundred rows across at once.
    */
  final val FullPayload = 48 << 10

  private val columns = Seq(
    "group" -> IntegerType,
    "kind" -> IntegerType,
    "place" -> LongType,
    "judged_by" -> LongType,
    "payload" -> BinaryType)

  def attributes(order: Seq[Attribute]): Seq[Attribute] =
    columns.map { case (name, dataType) =>
      AttributeReference(name, dataType, nullable = false)()
    } ++ order.map(_.newInstance().withNullability(true))

  /** What sorts them group by group, in any order within. */
  def byGroup(attributes: Seq[Attribute]): Seq[SortOrder] =
    Seq(SortOrder(attributes(Group), Ascending))

  /** What sorts them into the order of arrival, group by group. */
  def inOrder(attributes: Seq[Attribute]): Seq[SortOrder] =
    (attributes(Group) +: attributes.drop(columns.length) :+ attributes(Position))
      .map(SortOrder(_, Ascending))

  /** Makes rows of their values. */
  def projection(order: Seq[Attribute]): UnsafeProjection =
    InterpretedUnsafeProjection.createProjection(
      (columns.map(_._2) ++ order.map(_.dataType)).zipWithIndex.map { case (dataType, i) =>
        BoundReference(i, dataType, nullable = i >= columns.length)
      })
}
