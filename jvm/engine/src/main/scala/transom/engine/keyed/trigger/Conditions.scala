package transom.engine.keyed.trigger

/** Looks up the user's predicates and distance functions by the column index in the spec. */
trait Conditions[R, A] {
  def condition(column: Int): Condition[R, A]
  def delta(column: Int): Delta[R]
}

/** A predicate of the user on a row and the accumulator of its pane. */
trait Condition[R, A] {

  /** Whether the predicate reads the accumulator. */
  def readsAccumulator: Boolean = true

  /** Returns the predicate for rows that belong to `accumulator`. The predicate is valid until
    * the next call of `among`. The accumulator may be null if `readsAccumulator` is false.
    */
  def among(accumulator: A): R => Boolean
}

/** A distance function of the user. */
trait Delta[R] {

  /** Returns the distance between an older row and a newer row. */
  def apply(older: R, newer: R): Double
}
