package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.functions.current_timestamp
import org.apache.spark.sql.transom.exchange.ExchangeFormat
import org.apache.spark.sql.transom.exec.TimeStageMapSide
import org.apache.spark.sql.transom.operator.{OperatorSpec, StampColumns, TimeStagePlan}
import org.apache.spark.sql.transom.task.TimeStageTasks
import org.apache.spark.sql.types.{LongType, StringType}

import transom.engine.spec.TimePolicy

/** The columns that a time policy reads, as attributes of the rows.
  *
  * @param arrival
  *   arrival time of a row, a timestamp
  * @param partition
  *   the input partition as a string, if the policy names one
  * @param over
  *   the columns of the substream
  * @param order
  *   the columns that define the order of arrival; empty if rows keep the order in which they are
  *   read
  */
final case class PolicyColumns(
    arrival: Attribute,
    partition: Option[Attribute],
    over: Seq[Attribute],
    order: Seq[Attribute]) {

  /** The columns besides the order. */
  def sources: Seq[Attribute] = Seq(arrival) ++ partition ++ over
}

/** Names the columns that a time policy reads, so that they can be found in a plan. */
object PolicySources {
  private val Arrival = "__transom_arrival"
  private val Partition = "__transom_partition"
  private val OverPrefix = "__transom_over_"

  /** The arrival time of a row: the user's column, or the time of the micro-batch. */
  def arrival(policy: TimePolicy, columns: Int => Column): Column =
    policy.arrivalColumn.fold(current_timestamp())(columns)

  /** The columns under their names, with their indexes in the message. */
  def columns(policy: TimePolicy, columns: Int => Column): Seq[(Option[Int], Column)] =
    Seq(policy.arrivalColumn -> arrival(policy, columns).as(Arrival)) ++
      policy.partitionColumn.map(index =>
        Some(index) -> columns(index).cast(StringType).as(Partition)) ++
      policy.overColumns.zipWithIndex.map { case (index, i) =>
        Some(index) -> columns(index).as(OverPrefix + i)
      }

  /** Finds the columns among those of a plan. */
  def found(attributes: Seq[Attribute], order: Seq[Attribute]): PolicyColumns = PolicyColumns(
    attributes.find(_.name == Arrival).get,
    attributes.find(_.name == Partition),
    attributes.filter(_.name.startsWith(OverPrefix)),
    order)
}

/** A time stage over rows.
  *
  * @param mapSide
  *   the map side of the stage
  * @param tasks
  *   the tasks behind the exchange
  * @param order
  *   the sort order of the exchange
  * @param output
  *   the columns that the tasks emit
  * @param stamp
  *   the last of these columns
  * @param byColumn
  *   the other columns, by the column of the rows below that they hold
  */
final case class TimeStageNodes(
    mapSide: LogicalPlan,
    tasks: TimeStageTasks,
    order: Seq[SortOrder],
    output: Seq[Attribute],
    stamp: StampColumns,
    byColumn: AttributeMap[Attribute]) {

  /** The stamped rows.
    *
    * @param observedAs
    *   the name under which the progress of the query shows the counts, if it does
    */
  def rows(
      session: SparkSession,
      isStreaming: Boolean,
      observedAs: Option[String] = None): LogicalPlan =
    if (isStreaming) OperatorPlans.streaming(session, tasks, order, mapSide, output, observedAs)
    else OperatorPlans.static(tasks, order, mapSide, output)
}

/** Builds time stages. */
object TimeStagePlanner {

  /** @param rows
    *   the input rows; they have all columns
    * @param time
    *   the time of a row in microseconds
    * @param carried
    *   the columns that operators above the stage read
    */
  def plan(
      policy: TimePolicy,
      keyGroups: Int,
      spec: OperatorSpec,
      operatorId: String,
      rows: LogicalPlan,
      time: Attribute,
      columns: PolicyColumns,
      carried: Seq[Attribute],
      sendsWatermarks: Boolean): TimeStageNodes = {
    val arrival = Alias(
      PreciseTimestampConversion(columns.arrival, columns.arrival.dataType, LongType),
      columns.arrival.name)()
    val over = columns.over.map(column => Alias(ComparableKeys.of(column), column.name)())
    // Rows that arrived at the same time keep the order in which they are read.
    val order =
      if (columns.order.isEmpty && policy.arrivalColumn.isDefined) Seq(arrival.toAttribute)
      else columns.order
    val plan = TimeStagePlan(
      policy,
      keyGroups,
      time,
      arrival.toAttribute,
      columns.partition,
      over.map(_.toAttribute),
      order,
      carried,
      sendsWatermarks)
    val computed = Seq(arrival) ++ over
    val below = plan.row.filterNot(AttributeSet(computed.map(_.toAttribute)).contains)
    val mapSide = TimeStageMapSide(
      plan,
      spec,
      plan.columns,
      operatorId,
      ExchangeFormat.attributes(plan.order),
      Project(below ++ computed, rows))
    val output = plan.row.map(_.newInstance())
    val stamp = StampColumns.create()
    TimeStageNodes(
      mapSide,
      TimeStageTasks(plan),
      ExchangeFormat.inOrder(mapSide.output),
      output ++ stamp.all,
      stamp,
      AttributeMap(plan.row.zip(output)))
  }
}
