package transom.engine.window

/** Outcome of adding a row to its windows. */
sealed trait RowOutcome

object RowOutcome {

  /** The row was added to all of its windows. */
  case object Added extends RowOutcome

  /** Some windows of the row were closed. The row was added to its other windows. */
  case object PartlyLate extends RowOutcome

  /** All windows of the row were closed. */
  case object Late extends RowOutcome

  /** The row belongs to no window: it lies in a gap between windows or lists no windows. */
  case object NoWindow extends RowOutcome

  /** The row was the end of another row, which now ends there. */
  case object Ended extends RowOutcome

  /** The row was the end of another row. Some windows behind that end were closed, and they hold
    * the other row.
    */
  case object EndedLate extends RowOutcome

  /** The row was an end without a start, or a second start. */
  case object BadLifetime extends RowOutcome
}
