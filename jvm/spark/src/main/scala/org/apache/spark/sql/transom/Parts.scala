package org.apache.spark.sql.transom

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.trees.BinaryLike
import org.apache.spark.sql.types._

/** What an accumulator in Python makes the value of a window from: structs of an accumulator of
  * some rows of the window, `state`, or of one row, `row`; the other is null.
  *
  * By itself it hands out all rows.
  *
  * @param state
  *   calls Python: the accumulator of all rows of an Arrow batch that are of one place, beside
  *   the first of them, null beside the others
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

  /** The parts if rows of a place share their fate: accumulators of theirs. */
  def ahead(place: Expression): AggregateFunction = {
    val accumulator = state.transform { case Place(Nil) => place }
    val part = Parts.part(accumulator, Literal(null, row.dataType))
    CollectList(If(IsNull(accumulator), Literal(null, part.dataType), part))
  }

  // What it is called in a checkpoint: of what makes accumulators, only their type matters there.
  override protected def stringArgs: Iterator[Any] = Iterator(state.dataType.sql, row)

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): Parts = copy(state = newLeft, row = newRight)
}

object Parts {

  /** What the Python package calls it by. */
  val Name = "__transom_parts"

  private def part(state: Expression, row: Expression): Expression =
    CreateNamedStruct(Seq(Literal("state"), state, Literal("row"), row))

  def of(arguments: Seq[Expression]): Expression = {
    val Seq(state, row) = arguments: @unchecked
    Parts(state, row)
  }
}

/** Which accumulator a row goes into, as bytes: that of its key and slice. Without children it
  * stands for what the planner puts there.
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

object Place {

  /** What the Python package calls it by. */
  val Name = "__transom_place"

  def of(arguments: Seq[Expression]): Expression = Place(arguments)
}
