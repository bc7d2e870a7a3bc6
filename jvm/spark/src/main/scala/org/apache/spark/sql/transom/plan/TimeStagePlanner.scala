package org.apache.spark.sql.transom.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.transom.clock.ClockSource
import org.apache.spark.sql.transom.exchange.{ExchangeFormat, JudgementRow}
import org.apache.spark.sql.transom.exec._
import org.apache.spark.sql.transom.planned.{JudgementColumns, OperatorSpec, TimeStagePlan}
import org.apache.spark.sql.transom.task.TimeStageTasks
import org.apache.spark.sql.types.LongType

import transom.engine.spec.{TimePolicy, WindowSpec}

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
  * @param judgement
  *   the last of these columns
  * @param byColumn
  *   the other columns, by the column of the rows below that they hold
  * @param judgementsAlone
  *   the columns that the tasks emit instead, if the rows stay with their map-side tasks
  */
final class TimeStageNodes(
    val mapSide: TimeStageMapSide,
    val tasks: TimeStageTasks,
    val order: Seq[SortOrder],
    val output: Seq[Attribute],
    val judgement: JudgementColumns,
    val byColumn: AttributeMap[Attribute],
    val judgementsAlone: Seq[Attribute]) {

  /** The judged rows.
    *
    * @param observedAs
    *   the name under which the progress of the query shows the metrics, if it does
    */
  def rows(
      session: SparkSession,
      isStreaming: Boolean,
      observedAs: Option[String] = None): LogicalPlan =
    if (isStreaming) {
      def emitted(columns: Seq[Attribute]) = OperatorPlans.streaming(
        session,
        tasks,
        order,
        withTicks(session),
        columns,
        mapSide.operatorId,
        observedAs)
      if (judgementsAlone.isEmpty) emitted(output)
      else WithJudgements(output, emitted(judgementsAlone))
    } else OperatorPlans.static(tasks, order, mapSide, output)

  /** Adds the ticks of the clock source to the input, if the stage needs them. */
  private def withTicks(session: SparkSession): LogicalPlan = {
    import mapSide.plan
    plan.windows.filter(_ => plan.needsClock).fold[LogicalPlan](mapSide) { windows =>
      val clock = ClockSource.ticking(session, mapSide.spec, windows.tickUs)
      // All rows are in the first key group.
      Union(mapSide, KeyGroupTicks(plan.order, 1, mapSide.output.map(_.newInstance()), clock))
    }
  }
}

/** Builds time stages. */
object TimeStagePlanner {

  /** @param rows
    *   the input rows; they have all columns
    * @param time
    *   the time of a row in microseconds
    * @param carried
    *   the columns that operators above the stage read
    * @param mayHoldRows
    *   whether the rows may stay with their map-side tasks, if numbers say all that the rules
    *   read, and if a task that reads the rows again reads them in the same order
    * @param keyFailed
    *   the column that says whether a key of a row failed, if a key can fail
    * @param end
    *   the column with the end of a row's lifetime, if rows have lifetimes
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
      mayHoldRows: Boolean,
      keyFailed: Option[Attribute],
      end: Option[Attribute],
      windows: Option[WindowSpec]): TimeStageNodes = {
    val arrival = arrivalOf(columns)
    val over = columns.over.map(column => Alias(ComparableKeys.of(column), column.name)())
    val order =
      if (windows.isDefined && columns.partition.isDefined)
        Seq(arrival.toAttribute) ++ columns.partition ++ columns.order
      else orderOf(policy, columns, arrival)
    val holdsRows = mayHoldRows && columns.punctuation.isEmpty && end.isEmpty &&
      (columns.order.isEmpty || columns.order.length == 1 && ExchangeFormat.isNumber(
        columns.order.head)) && ReplayedOrder.brokenBy(rows).isEmpty
    val plan = TimeStagePlan(
      spec.timeStage,
      policy.copy(partitions = columns.partitions),
      keyGroups,
      time,
      arrival.toAttribute,
      columns.partition,
      over.map(_.toAttribute),
      order,
      columns.punctuation,
      end,
      carried,
      holdsRows,
      keyFailed,
      windows)
    val computed = Seq(arrival) ++ over
    val below = plan.columns.filterNot(AttributeSet(computed.map(_.toAttribute)).contains)
    // Within a partition, the order comes before the arrival.
    val inTask = if (plan.movesArrival) plan.order.drop(1) :+ plan.order.head else plan.order
    val mapSide = TimeStageMapSide(
      plan,
      spec,
      plan.columns,
      operatorId,
      ExchangeFormat.attributes(plan.order),
      RepeatableOrder.of(inTask, time, Project(below ++ computed, rows)))
    val rowColumns = if (holdsRows) plan.columns else plan.row
    val output = rowColumns.map(_.newInstance())
    val judgement = JudgementColumns.create()
    new TimeStageNodes(
      mapSide,
      TimeStageTasks(plan),
      ExchangeFormat.inOrder(mapSide.output),
      output ++ judgement.all,
      judgement,
      AttributeMap(rowColumns.zip(output)),
      if (holdsRows) JudgementRow.attributes() else Nil)
  }

  /** The arrival time of a row in microseconds. */
  def arrivalOf(columns: PolicyColumns): NamedExpression =
    Alias(
      PreciseTimestampConversion(columns.arrival, columns.arrival.dataType, LongType),
      columns.arrival.name)()

  /** The order of the rows of a source. Rows that arrived at the same time keep the order in
    * which they are read.
    */
  def orderOf(
      policy: TimePolicy,
      columns: PolicyColumns,
      arrival: NamedExpression): Seq[Attribute] =
    if (columns.order.isEmpty && policy.arrivalColumn.isDefined) Seq(arrival.toAttribute)
    else columns.order
}
