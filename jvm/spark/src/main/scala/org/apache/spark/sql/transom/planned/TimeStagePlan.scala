package org.apache.spark.sql.transom.planned

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import transom.engine.spec.{TimePolicy, WindowSpec}

/** Everything that the tasks of a time stage need to know.
  *
  * The stage has attributes of its own. The plan maps input columns to them by position, so Spark
  * may rename the columns around the stage.
  *
  * @param name
  *   the name of the stage's watermark in its tasks, see `OperatorSpec.timeStage`
  * @param time
  *   the time of a row, in microseconds since 1970
  * @param arrival
  *   the arrival time of a row, in microseconds since 1970
  * @param partition
  *   the input partition of a row as a string, if the policy names one
  * @param over
  *   the columns of the substream of a row, in a form whose bytes can be compared
  * @param order
  *   the columns that define the order of arrival; empty if rows keep the order in which they are
  *   read
  * @param punctuation
  *   whether a row is punctuation, if the policy has any
  * @param end
  *   the end of a row's lifetime in microseconds since 1970, or `RowContext.NoEnd`; null if it is
  *   unknown. None if rows have no lifetimes
  * @param carried
  *   the other columns of a row
  * @param holdsRows
  *   whether rows stay with their map-side task. Then only their times cross the exchange, and
  *   judgements come back. The order has at most one column besides the arrival and the
  *   partition, a number of 64 bits. There is no punctuation, and no row has an end.
  * @param keyFailed
  *   whether a key of a row failed; none if no key can fail, or no windows follow
  * @param windows
  *   the spec of the windows that follow, if any do. They need a watermark of the whole input, so
  *   all rows go to one key group.
  */
final case class TimeStagePlan(
    name: String,
    policy: TimePolicy,
    keyGroups: Int,
    time: Attribute,
    arrival: Attribute,
    partition: Option[Attribute],
    over: Seq[Attribute],
    order: Seq[Attribute],
    punctuation: Option[Attribute],
    end: Option[Attribute],
    carried: Seq[Attribute],
    holdsRows: Boolean,
    keyFailed: Option[Attribute],
    windows: Option[WindowSpec]) {

  /** All input columns that the stage reads. The first is the time. */
  def columns: Seq[Attribute] = whole ++ keyFailed

  /** The columns that identify a source. */
  def source: Seq[Attribute] = partition.toSeq ++ over

  /** Whether rows of several partitions go to one key group. Their order is then the arrival, the
    * partition, and the order within the partition.
    */
  def mergesPartitions: Boolean = windows.isDefined && partition.isDefined

  /** Whether a row of a partition counts as arriving no earlier than the row before it. Without
    * an order within partitions, the arrival is this order.
    */
  def movesArrival: Boolean = mergesPartitions && order.length > 2

  /** The first column that orders rows besides the arrival and the partition. It is the only one
    * if rows stay with their tasks.
    */
  def orderNumber: Option[Attribute] =
    order.find(column => column != arrival && !partition.contains(column))

  /** Whether ticks of the wall clock act on the stage. */
  def needsClock: Boolean = windows.exists(_.stageNeedsClock)

  /** The input columns of a row that crosses the exchange. If all columns cross it, the columns
    * of the judgement follow them.
    */
  def row: Seq[Attribute] = if (holdsRows) Seq(arrival) ++ partition ++ orderNumber else whole

  /** The number of all columns of a row that crosses the exchange with all columns. */
  def width: Int = row.length + JudgementColumns.count

  private def whole: Seq[Attribute] =
    (Seq(time, arrival) ++ partition ++ over ++ order ++ punctuation ++ end ++ carried).distinct

  /** Short, because Spark prints it in each plan of a query. */
  override def toString: String = "time stage"
}

/** The columns that a time stage adds to rows. A dropped row keeps its own time, and other rows
  * have the time in force.
  *
  * @param watermark
  *   the watermark that the row met, in microseconds since 1970; `Watermark.NotYet` if there was
  *   none
  * @param code
  *   the code of the `Judgement`
  * @param bySource
  *   whether each source has a watermark of its own, see `KeyedTaskOperator`
  */
final case class JudgementColumns(
    watermark: Attribute,
    code: Attribute,
    bySource: Boolean = false) {
  def all: Seq[Attribute] = Seq(watermark, code)
}

/** Creates the columns. */
object JudgementColumns {
  final val count = 2

  def create(): JudgementColumns = JudgementColumns(
    AttributeReference("watermark", LongType, nullable = false)(),
    AttributeReference("judgement", LongType, nullable = false)())
}
