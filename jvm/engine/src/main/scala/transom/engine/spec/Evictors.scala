package transom.engine.spec

/** Which rows of a window stay when it fires. */
sealed trait Evictor {

  /** Whether the others go before the result is computed or after. */
  def when: Eviction
}

sealed trait Eviction

object Eviction {
  case object Before extends Eviction
  case object After extends Eviction
}

/** The rows that came last. */
final case class KeepLast(rows: Int, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("rows", rows)
}

/** Rows newer than the pane's newest, less `withinUs`. */
final case class KeepRecent(withinUs: Long, when: Eviction = Eviction.Before) extends Evictor {

  Check.positive("within_us", withinUs)
}

/** Rows less than `threshold` away from the one that came last. */
final case class KeepNear(deltaColumn: Int, threshold: Double, when: Eviction = Eviction.Before)
    extends Evictor

/** Rows of which a condition on them and their pane holds. */
final case class KeepWhere(conditionColumn: Int, when: Eviction = Eviction.Before) extends Evictor
