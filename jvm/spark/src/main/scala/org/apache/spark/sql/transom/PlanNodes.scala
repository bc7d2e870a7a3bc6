package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.types._

/** Map side of a window stage: rows in, packed by key group out. */
case class PackedStage(
    stage: WindowStage,
    columns: Seq[Attribute],
    operator: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): PackedStage =
    copy(child = newChild)
}

/** What is packed, group by group, in each in the given order. */
case class ByKeyGroup(order: Seq[SortOrder], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): ByKeyGroup =
    copy(child = newChild)
}

/** The visits that a stateful operator hands on in an object column. */
case class Visits(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): Visits =
    copy(child = newChild)
}

/** The rows of visits. */
case class VisitedRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): VisitedRows =
    copy(child = newChild)
}

/** The key groups of a static DataFrame, fired once it is over. */
case class FireAll(stage: WindowStage, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): FireAll =
    copy(child = newChild)
}

/** Hands a row to a stateful processor as it is. */
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

object RowObject {
  val dataType: ObjectType = ObjectType(classOf[InternalRow])
}

/** Plans our nodes. */
object WindowStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case PackedStage(stage, columns, operator, output, child) =>
      val (input, below) = readingFrom(child, columns.zip(stage.columns))
      PackExec(stage, input, output, operator, below) :: Nil
    case PackedTicks(stage, output, child) =>
      PackTicksExec(stage, output, planLater(child)) :: Nil
    case ByKeyGroup(order, child) =>
      ByKeyGroupExec(order, child.output, planLater(child)) :: Nil
    case CollectMetrics(name, metrics, visits: Visits, _) =>
      new ObservedVisitsExec(name, metrics, planLater(visits)) :: Nil
    case Visits(output, child) => VisitsExec(output, planLater(child)) :: Nil
    case VisitedRows(output, child) => VisitedRowsExec(output, planLater(child)) :: Nil
    case node @ Drained(time, controlTime, _, child) =>
      DrainedExec(time, controlTime, node.output, planLater(child)) :: Nil
    case FireAll(stage, output, child) => FireAllExec(stage, output, planLater(child)) :: Nil
    case _ => Nil
  }

  /** A plan that yields what a stage reads, and its columns under the stage's names. Columns that
    * are only renamed, which is the rule, are read where they lie: no row is built for that.
    *
    * @param columns
    *   pairs of a column of `child` and of the stage
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
    if (renamed.length == columns.distinct.length && names.size == renamed.length)
      (below.output.toVector.map(a => names.getOrElse(a, a)), planLater(below))
    else {
      val own = columns.distinct.map { case (from, to) => Alias(from, to.name)(to.exprId) }
      // Not a logical node: adaptive execution would look for it in the plan of the query.
      (own.map(_.toAttribute), ProjectExec(own, planLater(child)))
    }
  }

  /** The column below that another one shows as it is; an instant is a number of microseconds. */
  private def source(column: NamedExpression): Option[(Attribute, Attribute)] = column match {
    case attribute: Attribute => Some(attribute -> attribute)
    case alias @ Alias(from: Attribute, _) => Some(alias.toAttribute -> from)
    case alias @ Alias(PreciseTimestampConversion(from: Attribute, _, LongType), _) =>
      Some(alias.toAttribute -> from)
    case _ => None
  }
}
