package transom.engine.spec

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
  */
final case class Lifetime(
    endColumn: Option[Int] = None,
    durationUs: Option[Long] = None,
    durationColumn: Option[Int] = None) {

  durationUs.foreach(Check.positive("duration_us", _))
  Check.that(
    "end_column",
    Seq(endColumn, durationUs, durationColumn).flatten.length == 1,
    "and the durations: one must not be null, and the others must be")
}
