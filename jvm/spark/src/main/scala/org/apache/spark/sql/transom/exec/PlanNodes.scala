package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.transom.batch.{LateWatermark, RealTime}
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.clock.{WithoutControlRow, WithoutControlRowExec}
import org.apache.spark.sql.transom.planned.{OperatorSpec, TimeStagePlan, WindowOperatorPlan}
import org.apache.spark.sql.transom.task.{KeyGroupProcessor, KeyGroupTasks}
import org.apache.spark.sql.types._

/** Logical node of the map side: encodes input rows by key group for the exchange. */
case class WindowMapSide(
    operatorPlan: WindowOperatorPlan,
    columns: Seq[Attribute],
    operatorId: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode
    with OperatorNode {
  override def spec: OperatorSpec = operatorPlan.spec
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): WindowMapSide =
    copy(child = newChild)
}

/** Logical node of the map side of a time stage: encodes input rows by source for the exchange.
  *
  * @param spec
  *   the operator that the stage belongs to: the window operator that follows, or the stage
  *   itself
  */
case class TimeStageMapSide(
    plan: TimeStagePlan,
    spec: OperatorSpec,
    columns: Seq[Attribute],
    operatorId: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode
    with OperatorNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): TimeStageMapSide =
    copy(child = newChild)
}

/** A logical node that belongs to an operator. */
sealed trait OperatorNode extends LogicalPlan {
  def spec: OperatorSpec

  /** Identifies the operator within its query. */
  def operatorId: String
}

/** Finds operators in a plan. */
object OperatorNode {

  /** The last node of each operator in a plan, in the order in which rows pass them. */
  def allIn(plan: LogicalPlan): Seq[OperatorNode] =
    plan.collect { case node: OperatorNode => node }.distinctBy(_.operatorId).reverse
}

/** Logical node that brings the exchange rows of a key group together, sorted by `order`. */
case class ByKeyGroup(order: Seq[SortOrder], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): ByKeyGroup =
    copy(child = newChild)
}

/** Logical node that unpacks the key group outputs from the object column of a stateful operator.
  *
  * @param openWindows
  *   the open windows of the operator, from batch to batch
  */
case class KeyGroupOutputs(
    operatorId: String,
    openWindows: OpenWindowGauge,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyGroupOutputs =
    copy(child = newChild)
}

/** Logical node that flattens key group outputs to rows. */
case class OutputRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): OutputRows =
    copy(child = newChild)
}

/** Logical node that brings the stamps of a time stage to the rows that its map side holds. */
case class StampedHeldRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): StampedHeldRows =
    copy(child = newChild)
}

/** Logical node of an operator over a static DataFrame. All windows fire when the input ends. */
case class StaticOperator(tasks: KeyGroupTasks, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): StaticOperator =
    copy(child = newChild)
}

/** Expression that returns the input row itself, so that a stateful processor receives rows
  * without conversion.
  */
case class RowObject() extends LeafExpression {
  override def dataType: DataType = RowObject.dataType
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any = input
  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ev.copy(
      code = EmptyBlock,
      isNull = FalseLiteral,
      value = JavaCode.expression(ctx.INPUT_ROW, dataType))
}

/** The type of [[RowObject]]. */
object RowObject {
  val dataType: ObjectType = ObjectType(classOf[InternalRow])
}

/** Plans the logical nodes of transom. */
object WindowStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case WindowMapSide(operatorPlan, columns, operatorId, output, child) =>
      val (input, below) = readingFrom(child, columns.zip(operatorPlan.columns))
      WindowMapSideExec(
        inBatch(operatorId)(operatorPlan),
        input,
        output,
        operatorId,
        below) :: Nil
    case TimeStageMapSide(plan, spec, columns, operatorId, output, child) =>
      val (input, below) = readingFrom(child, columns.zip(plan.columns))
      TimeStageMapSideExec(plan, spec, input, output, operatorId, below) :: Nil
    case KeyGroupTicks(order, groups, output, child) =>
      KeyGroupTicksExec(order, groups, output, planLater(child)) :: Nil
    case RepeatableOrder(order, child) =>
      RepeatableOrderExec(SortExec(order, global = false, planLater(child))) :: Nil
    case ByKeyGroup(order, child) =>
      ByKeyGroupExec(order, child.output, planLater(child)) :: Nil
    case CollectMetrics(name, metrics, outputs: KeyGroupOutputs, _) =>
      new ObservedMetricsExec(name, metrics, planLater(outputs)) :: Nil
    case KeyGroupOutputs(operatorId, openWindows, output, child) =>
      OperatorNode.allIn(child).lastOption.foreach { operator =>
        RealTime.refuse(SparkSession.active, operator.spec.name)
      }
      KeyGroupOutputsExec(
        operatorId,
        openWindows,
        output,
        planLater(planned(operatorId, child))) :: Nil
    case OutputRows(output, child) => OutputRowsExec(output, planLater(child)) :: Nil
    case StampedHeldRows(output, child) =>
      StampedHeldRowsExec(output, planLater(child)) :: Nil
    case node @ WithoutControlRow(time, controlTime, _, child) =>
      WithoutControlRowExec(time, controlTime, node.output, planLater(child)) :: Nil
    case StaticOperator(tasks, output, child) =>
      StaticOperatorExec(tasks.in(_.copy(query = query)), output, planLater(child)) :: Nil
    case _ => Nil
  }

  /** The id of the streaming query whose batch is being planned.
    *
    * A function for `foreachBatch` may run the tasks of the batch on any thread, so the tasks
    * cannot find the id.
    */
  private def query: Option[String] = LateWatermark.queryId(SparkSession.active)

  /** The plan of an operator in the batch that is being planned. */
  private def inBatch(
      operatorId: String)(operatorPlan: WindowOperatorPlan): WindowOperatorPlan = {
    val inQuery = operatorPlan.copy(query = query)
    val session = SparkSession.active
    // A static plan inside `foreachBatch` is planned under the same query.
    val batch = LateWatermark
      .runningBatch(session)
      .filter(batch => OperatorNode.allIn(batch.logical).exists(_.operatorId == operatorId))
    batch
      .map(CheckpointedSpec.schemas(session, _, operatorId, operatorPlan))
      .fold(inQuery)(inQuery.over)
  }

  private def planned(operatorId: String, operator: LogicalPlan): LogicalPlan = operator match {
    case node: TransformWithState =>
      node.copy(statefulProcessor =
        KeyGroupProcessor.in(node.statefulProcessor, inBatch(operatorId)))
    case other => other
  }

  /** Plans the child of an operator, and returns its output columns under the operator's names.
    *
    * Columns are usually only renamed. Such columns are read in place, so no row is copied.
    *
    * @param columns
    *   pairs of a column of `child` and a column of the operator
    */
  private def readingFrom(
      child: LogicalPlan,
      columns: Seq[(Attribute, Attribute)]): (Seq[Attribute], SparkPlan) = {
    val (sources, below) = child match {
      case Project(list, grandchild) => (AttributeMap(list.flatMap(source)), grandchild)
      case other => (AttributeMap(other.output.map(a => a -> a)), other)
    }
    val renamed = columns.flatMap { case (from, to) => sources.get(from).map(_ -> to) }.distinct
    val names = AttributeMap(renamed)
    if (renamed.length == columns.distinct.length && names.size == renamed.length) {
      val read = pruned(below, names.contains)
      (read.output.toVector.map(a => names.getOrElse(a, a)), planLater(withoutTimes(read)))
    } else {
      val own = columns.distinct.map { case (from, to) => Alias(from, to.name)(to.exprId) }
      // Not a logical node: adaptive execution would look for the node in the plan of the query.
      (own.map(_.toAttribute), ProjectExec(own, planLater(child)))
    }
  }

  /** A plan whose generated code does not contain the time of the batch, which is the arrival of
    * rows without an arrival column. Spark would compile this code again in each batch.
    */
  private def withoutTimes(plan: LogicalPlan): LogicalPlan = plan match {
    case Project(list, child) =>
      val columns = list.map {
        case column @ Alias(Literal(time: java.lang.Long, TimestampType), name) =>
          val boxed = Literal(time, ObjectType(classOf[java.lang.Long]))
          Alias(Invoke(boxed, "longValue", TimestampType), name)(column.exprId)
        case other => other
      }
      Project(columns, child)
    case other => other
  }

  /** A plan without the columns that no operator reads. Spark then does not read them from files.
    * Over other plans Spark would add a projection, which copies each row.
    */
  private def pruned(plan: LogicalPlan, isRead: Attribute => Boolean): LogicalPlan = plan match {
    case _: LogicalRelation | Filter(_, _: LogicalRelation) =>
      val left = plan.output.filter(isRead)
      if (left.isEmpty || left.length == plan.output.length) plan else Project(left, plan)
    case other => other
  }

  /** The child column whose value `column` shows unchanged, if there is one. A timestamp
    * converted to microseconds counts as unchanged, because Spark stores both as the same number.
    */
  private def source(column: NamedExpression): Option[(Attribute, Attribute)] = column match {
    case attribute: Attribute => Some(attribute -> attribute)
    case alias @ Alias(from: Attribute, _) => Some(alias.toAttribute -> from)
    case alias @ Alias(PreciseTimestampConversion(from: Attribute, _, LongType), _) =>
      Some(alias.toAttribute -> from)
    case _ => None
  }
}
