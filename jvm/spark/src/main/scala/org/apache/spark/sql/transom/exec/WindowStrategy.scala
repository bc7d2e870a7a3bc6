package org.apache.spark.sql.transom.exec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.transom.batch.{LateWatermark, RealTime}
import org.apache.spark.sql.transom.checkpoint.CheckpointedSpec
import org.apache.spark.sql.transom.clock.{WithoutControlRow, WithoutControlRowExec}
import org.apache.spark.sql.transom.planned.WindowOperatorPlan
import org.apache.spark.sql.transom.task.KeyGroupProcessor
import org.apache.spark.sql.types._

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
        RealTime.refuse(
          SparkSession.active,
          operator.spec.name,
          "stamped()",
          "the rules of a stamp need the rows of a source in one task",
          "Use micro-batches")
      }
      KeyGroupOutputsExec(
        operatorId,
        openWindows,
        output,
        planLater(planned(operatorId, child))) :: Nil
    case results: OutputRows if RealTime.isRunning(SparkSession.active) =>
      planLater(
        RealTimeOperator.of(SparkSession.active, results, (id, plan) => inBatch(id)(plan))) :: Nil
    case OutputRows(output, child) => OutputRowsExec(output, planLater(child)) :: Nil
    case WithJudgements(output, child) =>
      WithJudgementsExec(output, planLater(child)) :: Nil
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
