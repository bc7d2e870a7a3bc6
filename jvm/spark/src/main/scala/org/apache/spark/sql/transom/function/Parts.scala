package org.apache.spark.sql.transom.function

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.transom.tree.Nodes
import org.apache.spark.sql.types._

import transom.engine.spec.Constants

/** Aggregate that collects the partial results of an accumulator in Python.
  *
  * The result is a list of structs with two fields. Field `state` holds the accumulator of some
  * rows of the window. Field `row` holds a single row. One of the two fields is null. Without
  * `accumulated`, the list holds all rows.
  *
  * @param state
  *   calls Python on the rows of an Arrow batch. The first row of each [[Place]] gets the
  *   accumulator of all rows of this place. The other rows get null.
  */
final case class Parts(state: Expression, row: Expression)
    extends AggregateFunction
    with RuntimeReplaceableAggregate
    with BinaryLike[Expression] {

  override def left: Expression = state
  override def right: Expression = row
  override def prettyName: String = "parts"

  override lazy val replacement: Expression =
    CollectList(Parts.part(Literal(null, state.dataType), row))

  /** Returns a function that collects accumulators instead of rows. Valid only if all rows of a
    * place share their windows and are late together.
    */
  def accumulated(place: Expression): AggregateFunction = {
    val accumulator = Nodes.down(state) {
      case Place(Nil) => place
      case other => other
    }
    val part = Parts.part(accumulator, Literal(null, row.dataType))
    CollectList(If(IsNull(accumulator), Literal(null, part.dataType), part))
  }

  // Plans print this text. It shows only the type of `state`, because the expression is long.
  override protected def stringArgs: Iterator[Any] = Iterator(state.dataType.sql, row)

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): Parts = copy(state = newLeft, row = newRight)
}

/** Builds [[Parts]] from the arguments of a call by name. */
object Parts {

  /** The name by which the Python package calls the function. */
  val Name: String = Constants.PartsFunction

  private def part(state: Expression, row: Expression): Expression =
    CreateNamedStruct(Seq(Literal("state"), state, Literal("row"), row))

  def of(arguments: Seq[Expression]): Expression = {
    val Seq(state, row) = arguments: @unchecked
    Parts(state, row)
  }
}

/** Identifies the accumulator of a row by the bytes of its key and slice. Without children, the
  * expression is a placeholder that the planner replaces.
  */
final case class Place(children: Seq[Expression]) extends Expression with CodegenFallback {

  override def dataType: DataType = BinaryType
  override def nullable: Boolean = false
  override def foldable: Boolean = false
  override def prettyName: String = "place"

  @transient private lazy val toRow = UnsafeProjection.create(children)

  override def eval(input: InternalRow): Any = toRow(input).getBytes

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Place =
    copy(children = newChildren)
}

/** Builds [[Place]] from the arguments of a call by name. */
object Place {

  /** The name by which the Python package calls the function. */
  val Name: String = Constants.PlaceFunction

  def of(arguments: Seq[Expression]): Expression = Place(arguments)
}
