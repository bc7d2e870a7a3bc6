package org.apache.spark.sql.transom.clock

import java.util.UUID

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.transom.error.TransomException
import org.apache.spark.sql.transom.planned.OperatorSpec
import org.apache.spark.sql.types.TimestampType
import org.apache.spark.unsafe.types.CalendarInterval

import transom.engine.setting.Durations
import transom.engine.time.Timeline

/** Fires the open windows of a stream when an `availableNow` run ends.
  *
  * A clock adds a control row below each watermark node of the input. The time of the control row
  * moves the watermark to the end of time. A filter above the watermark node removes the control
  * row.
  */
object Drain {

  /** The watermark of a drained query, milliseconds. The last window fires at this watermark. */
  val EndMs: Long = -Math.floorDiv(-Timeline.EndOfTime, 1000L)

  /** The longest watermark delay, in milliseconds, that draining supports.
    *
    * The time of the control row is the end of time plus the delay.
    */
  private val MostDelayMs: Long = Durations.LongestUs / 1000L

  private final val NoTime = "__transom_no_time"

  /** Adds a control row below each watermark node of a plan. */
  def below(session: SparkSession, plan: LogicalPlan, operatorSpec: OperatorSpec): LogicalPlan =
    if (plan.exists(_.isInstanceOf[EventTimeWatermark])) {
      val clock = ClockSource.draining(session, operatorSpec)
      val withClock = watermarksWithClock(plan)
      plan.transformUp {
        case w: EventTimeWatermark if !withClock(w.nodeId) => drained(w, clock, operatorSpec)
      }
    } else withoutTime(session, plan, operatorSpec)

  /** Ids of the watermark nodes that a clock moves. */
  def watermarksWithClock(plan: LogicalPlan): Set[UUID] =
    plan.flatMap {
      case WithoutControlRow(_, _, _, watermark: EventTimeWatermark) => Some(watermark.nodeId)
      case _ => None
    }.toSet

  /** Gives rows without event time a watermark that only draining moves. */
  private def withoutTime(
      session: SparkSession,
      plan: LogicalPlan,
      operatorSpec: OperatorSpec): LogicalPlan = {
    val time = Alias(Literal(0L, TimestampType), NoTime)()
    val timed = Project(plan.output :+ time, plan)
    val marked = EventTimeWatermark(
      UUID.randomUUID(),
      time.toAttribute,
      new CalendarInterval(0, 0, 0L),
      timed)
    Project(plan.output, below(session, marked, operatorSpec))
  }

  /** Returns the error for a query that cannot be drained.
    *
    * @param fix
    *   a sentence, without the full stop, that says what the user must change
    */
  def refusal(operator: String, why: String, fix: String): TransomException =
    new TransomException(
      "TRANSOM_CANNOT_DRAIN",
      Map("operator" -> operator, "why" -> why, "fix" -> fix))

  private def drained(
      watermark: EventTimeWatermark,
      clock: LogicalPlan,
      operatorSpec: OperatorSpec): LogicalPlan = {
    val delayMs = EventTimeWatermark.getDelayMs(watermark.delay)
    if (delayMs > MostDelayMs)
      throw refusal(
        operatorSpec.name,
        s"the delay of the watermark on ${watermark.eventTime.name} is longer than " +
          s"${Durations.Longest}",
        "Use a shorter delay in withWatermark")
    val controlTime = (EndMs + delayMs) * 1000L
    val controlRow = watermark.child.output.map { column =>
      val isTime = column.exprId == watermark.eventTime.exprId && column.dataType == TimestampType
      Alias(Literal(if (isTime) controlTime else null, column.dataType), column.name)()
    }
    val united = Union(watermark.child, Project(controlRow, clock))
    WithoutControlRow(
      watermark.eventTime,
      controlTime,
      watermark.child.output.filterNot(_.nullable),
      watermark.withNewChildren(Seq(united)).asInstanceOf[EventTimeWatermark])
  }
}

/** Logical node that removes the control row, directly above the watermark node.
  *
  * Catalyst would move an ordinary filter below the watermark node, which must see the control
  * row.
  *
  * @param time
  *   column of the watermark's event time
  * @param controlTime
  *   time of the control row, microseconds
  * @param notNull
  *   columns that are null in the control row only
  */
case class WithoutControlRow(
    time: Attribute,
    controlTime: Long,
    notNull: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {

  override lazy val references: AttributeSet = AttributeSet(time)

  override def output: Seq[Attribute] = {
    val restored = AttributeSet(notNull)
    child.output.map(column =>
      if (restored.contains(column)) column.withNullability(false) else column)
  }

  // In a batch without input, the control row is the only row here. Spark would infer constraints
  // from this row, and a join above would look for equal rows.
  override protected lazy val validConstraints: ExpressionSet = ExpressionSet()

  override protected def withNewChildInternal(newChild: LogicalPlan): WithoutControlRow =
    copy(child = newChild)
}

/** Removes the control row, and rejects input after the checkpoint has been drained. */
case class WithoutControlRowExec(
    time: Attribute,
    controlTime: Long,
    output: Seq[Attribute],
    child: SparkPlan)
    extends UnaryExecNode {

  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    DrainClock.refuseRowsAfterEnd(session)
    val timeAt = child.output.indexWhere(_.exprId == time.exprId)
    val control = controlTime
    child
      .execute()
      .mapPartitions(_.filter(row => row.isNullAt(timeAt) || row.getLong(timeAt) != control))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): WithoutControlRowExec =
    copy(child = newChild)
}
