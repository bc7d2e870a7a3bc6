package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.types._

/** Map side of a window operator: rows in, encoded by key group out. */
case class WindowMapSide(
    operatorPlan: WindowOperatorPlan,
    columns: Seq[Attribute],
    operatorId: String,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): WindowMapSide =
    copy(child = newChild)
}

/** The rows of the exchange, group by group, in each in the given order. */
case class ByKeyGroup(order: Seq[SortOrder], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(newChild: LogicalPlan): ByKeyGroup =
    copy(child = newChild)
}

/** The key group outputs that a stateful operator hands on in an object column. */
case class KeyGroupOutputs(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyGroupOutputs =
    copy(child = newChild)
}

/** The rows of key group outputs. */
case class OutputRows(output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): OutputRows =
    copy(child = newChild)
}

/** The key groups of a static DataFrame, fired once it is over. */
case class StaticWindowOperator(
    operatorPlan: WindowOperatorPlan,
    output: Seq[Attribute],
    child: LogicalPlan)
    extends UnaryNode {
  override def producedAttributes: AttributeSet = outputSet
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): StaticWindowOperator =
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
    case WindowMapSide(operatorPlan, columns, operatorId, output, child) =>
      val (input, below) = readingFrom(child, columns.zip(operatorPlan.columns))
      WindowMapSideExec(operatorPlan, input, output, operatorId, below) :: Nil
    case KeyGroupTicks(operatorPlan, output, child) =>
      KeyGroupTicksExec(operatorPlan, output, planLater(child)) :: Nil
    case ByKeyGroup(order, child) =>
      ByKeyGroupExec(order, child.output, planLater(child)) :: Nil
    case CollectMetrics(name, metrics, outputs: KeyGroupOutputs, _) =>
      new ObservedOutputCountsExec(name, metrics, planLater(outputs)) :: Nil
    case KeyGroupOutputs(output, child) => KeyGroupOutputsExec(output, planLater(child)) :: Nil
    case OutputRows(output, child) => OutputRowsExec(output, planLater(child)) :: Nil
    case node @ Drained(time, controlTime, _, child) =>
      DrainedExec(time, controlTime, node.output, planLater(child)) :: Nil
    case StaticWindowOperator(operatorPlan, output, child) =>
      StaticWindowOperatorExec(operatorPlan, output, planLater(child)) :: Nil
    case _ => Nil
  }

  /** A plan that yields what an operator reads, and its columns under the operator's names.
    * Columns that are only renamed, which is the rule, are read where they lie: no row is built
    * for that.
    *
    * @param columns
    *   pairs of a column of `child` and of the operator
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
