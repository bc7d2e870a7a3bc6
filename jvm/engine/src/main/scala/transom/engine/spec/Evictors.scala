package transom.engine.spec

/** Decides which rows of a window are kept when it fires. The other rows are removed. */
sealed trait Evictor extends Product {

  /** Whether rows are removed before or after the result is computed. */
  def when: Eviction
}

/** When an evictor removes rows. */
sealed trait Eviction

/** The values of [[Eviction]]. */
object Eviction {

  /** Rows are removed before the result is computed, so the result does not include them. */
  case object Before extends Eviction

  /** Rows are removed after the result is computed, so only later results exclude them. */
  case object After extends Eviction
}

/** Keeps the last `rows` rows in order of arrival. */
final case class KeepLast(rows: Int, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("rows", rows)
}

/** Keeps rows that are newer than the newest row of the window minus `withinUs`. If rows have no
  * time, all of them are kept.
  *
  * @param withinUs
  *   maximum age of a row, measured back from the newest row, in microseconds
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepRecent(withinUs: Long, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("within_us", withinUs)
}

/** Keeps rows whose distance from the last row is less than `threshold`.
  *
  * @param deltaColumn
  *   index of the distance function's column
  * @param threshold
  *   the distance at which rows are removed
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepNear(deltaColumn: Int, threshold: Double, when: Eviction = Eviction.Before)
    extends Evictor

/** Keeps rows for which a predicate on the row and its pane is true.
  *
  * @param conditionColumn
  *   index of the predicate's column
  * @param when
  *   whether rows are removed before or after the result is computed
  */
final case class KeepWhere(conditionColumn: Int, when: Eviction = Eviction.Before) extends Evictor
