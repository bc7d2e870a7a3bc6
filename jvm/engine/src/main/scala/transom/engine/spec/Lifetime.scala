package transom.engine.spec

import transom.engine.setting.Check

/** The lifetimes of rows. A row without a lifetime lasts one microsecond.
  *
  * A lifetime starts at the time of its row and excludes its end. One of the three settings is
  * given.
  *
  * @param endColumn
  *   index of the column with the end; a row whose end is null has no end
  * @param durationUs
  *   the duration of all rows, in microseconds
  * @param durationColumn
  *   index of the column with the duration of a row
  * @param idColumns
  *   the columns that, with the key and the time of a row, tell which row a later row ends; empty
  *   if each row has its own end
  * @param timeoutUs
  *   how long a row lasts at most that waits for the row with its end, in microseconds
  */
final case class Lifetime(
    endColumn: Option[Int] = None,
    durationUs: Option[Long] = None,
    durationColumn: Option[Int] = None,
    idColumns: Seq[Int] = Nil,
    timeoutUs: Option[Long] = None) {

  durationUs.foreach(Check.positive("duration_us", _))
  Check.that(
    "end_column",
    Seq(endColumn, durationUs, durationColumn).flatten.length == 1,
    "and the durations: one must not be null, and the others must be",
    "LIFETIME_CHOICE",
    "given" -> (if (endColumn.isDefined) "both" else "neither"))
  timeoutUs.foreach(Check.positive("timeout_us", _))
  Check.that(
    "id_columns",
    idColumns.isEmpty || endColumn.isDefined,
    "needs an end column",
    "CONFLICT",
    "step" -> "Lifetime(id=)",
    "other" -> "Lifetime(duration=)",
    "why" -> "a row with a duration does not wait for another row with its end")
  Check.that(
    "timeout_us",
    timeoutUs.isEmpty || idColumns.nonEmpty,
    "needs id columns",
    "NEEDS_ID")

  /** Whether rows are edges: a row without end starts a lifetime, and a row with an end ends it.
    */
  def hasEdges: Boolean = idColumns.nonEmpty
}
