package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.types._

import transom.engine.setting.Constants

/** Aggregate that collects the partial results of an accumulator in Python.
  *
  * The result is a list of structs with two fields. Field `state` holds the accumulator of some
  * rows of the window. Field `row` holds a single row. One of the two fields is null. Without
  * `accumulated`, the list holds all rows.
  *
  * @param state
  *   calls Python on the rows of an Arrow batch. The first row of each [[AccumulatorId]] gets the
  *   accumulator of all rows of this place. The other rows get null.
  * @param removes
  *   whether Python can remove rows from an accumulator, see `PythonPartials.inChanges`
  */
final case class PythonPartials(state: Expression, row: Expression, removes: Boolean)
    extends AggregateFunction
    with RuntimeReplaceableAggregate
    with BinaryLike[Expression] {

  override def left: Expression = state
  override def right: Expression = row
  // The checkpoint has this name. The state of parts in changes holds no rows.
  override def prettyName: String = if (removes) "removing_parts" else "parts"

  override lazy val replacement: Expression =
    CollectList(PythonPartials.part(Literal(null, state.dataType), KnownNullable(row)))

  /** Returns a function that collects accumulators instead of rows. Valid only if all rows of a
    * place share their windows and are late together.
    */
  def accumulated(place: Expression): AggregateFunction = {
    val accumulator = state.transformDown { case AccumulatorId(Nil) => place }
    val part = PythonPartials.part(accumulator, Literal(null, row.dataType))
    CollectList(If(IsNull(accumulator), Literal(null, part.dataType), part))
  }

  // Plans print this text. It shows only the type of `state`, because the expression is long.
  override protected def stringArgs: Iterator[Any] = Iterator(state.dataType.sql, row)

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): PythonPartials = PythonPartials(newLeft, newRight, removes)
}

/** Builds [[PythonPartials]] from the arguments of a call by name. */
object PythonPartials {

  /** The name by which the Python package calls the function. */
  val Name: String = Constants.PartsFunction

  private def part(state: Expression, row: Expression): Expression =
    CreateNamedStruct(Seq(Literal("state"), state, Literal("row"), row))

  def of(arguments: Seq[Expression]): Expression = {
    val Seq(state, row, Literal(removes: Boolean, _)) = arguments: @unchecked
    PythonPartials(state, row, removes)
  }

  /** Lets an operator that takes changes fill the lists of the parts from which Python can remove
    * rows. Their accumulators hold no rows.
    */
  def inChanges(plan: Aggregate): Aggregate = plan.mapExpressions(_.transformDown {
    case f @ AggregateExpression(parts: PythonPartials, _, false, None, _) if parts.removes =>
      f.copy(
        aggregateFunction = parts.replacement.asInstanceOf[AggregateFunction],
        filter = Never)
  })

  private val Never = Some(Literal.FalseLiteral)

  private def isPart(kind: DataType): Boolean = kind match {
    case struct: StructType => struct.names.sameElements(Seq("state", "row"))
    case _ => false
  }

  /** The column with the part of a row, if the operator fills the list of the function. */
  def changed(function: AggregateExpression): Option[Attribute] = function match {
    // A user's own list may have this filter, but not such rows.
    case AggregateExpression(CollectList(part: Attribute, _, _, _), _, _, Never, _)
        if isPart(part.dataType) =>
      Some(part)
    case _ => None
  }
}

/** Identifies the accumulator of a row by the bytes of its key and slice. Without children, the
  * expression is a placeholder that the planner replaces.
  */
final case class AccumulatorId(children: Seq[Expression])
    extends Expression
    with CodegenFallback {

  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def prettyName: String = "place"

  @transient private lazy val toRow = UnsafeProjection.create(children)

  override def eval(input: InternalRow): Any = toRow(input).getBytes

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]): AccumulatorId =
    copy(children = newChildren)
}

/** Builds [[AccumulatorId]] from the arguments of a call by name. */
object AccumulatorId {

  /** The name by which the Python package calls the function. */
  val Name: String = Constants.PlaceFunction

  def of(arguments: Seq[Expression]): Expression = AccumulatorId(arguments)
}
