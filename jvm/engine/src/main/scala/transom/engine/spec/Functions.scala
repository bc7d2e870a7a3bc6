package transom.engine.spec

/** What is computed from the rows of a window. */
sealed trait Function {

  /** Indexes of the columns that are aggregates. */
  def aggregateColumns: Seq[Int]

  /** Whether a user function is called for each result. */
  def isCalled: Boolean

  /** Whether the function needs the rows themselves instead of aggregates. */
  def takesRows: Boolean = isCalled && aggregateColumns.isEmpty

  /** Whether the function keeps state per window. */
  def keepsByWindow: Boolean

  /** Whether the function keeps state per window or per key. */
  def keepsState: Boolean
}

/** Aggregates without a user function: the operator of `agg`. */
final case class AggFunction(aggregateColumns: Seq[Int]) extends Function {
  override def isCalled: Boolean = false
  override def keepsByWindow: Boolean = false
  override def keepsState: Boolean = false
}

/** A user function that is called for each result: the operator of `apply`.
  *
  * The argument is the rows of the window, or one row of aggregates if `aggregateColumns` is not
  * empty. The schemas are strings in the caller's format. The engine does not parse them.
  *
  * @param schema
  *   schema of the rows that the function returns
  * @param form
  *   the type of the argument that holds the rows
  * @param aggregateColumns
  *   indexes of the columns that are aggregates
  * @param windowState
  *   schema of the state per window and key, if there is any
  * @param keyState
  *   schema of the state per key, if there is any
  * @param outputs
  *   schemas of the named side outputs, by name
  */
final case class ApplyFunction(
    schema: String,
    form: RowsForm,
    aggregateColumns: Seq[Int],
    windowState: Option[String] = None,
    keyState: Option[String] = None,
    outputs: Option[String] = None)
    extends Function {
  override def isCalled: Boolean = true
  override def keepsByWindow: Boolean = windowState.isDefined
  override def keepsState: Boolean = keepsByWindow || keyState.isDefined
}

/** The form in which a user function receives rows. */
sealed trait RowsForm

/** The values of [[RowsForm]]. */
object RowsForm {

  /** A `pyarrow.Table`. */
  case object Arrow extends RowsForm

  /** A `pandas.DataFrame`. */
  case object Pandas extends RowsForm
}
