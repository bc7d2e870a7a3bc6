package transom.engine.spec

/** The lifetimes of results (S-20, S-21). */
sealed trait OutputPolicy

/** The values of [[OutputPolicy]]. */
object OutputPolicy {

  /** A result is a point at the end of its window. */
  case object PointAlignToWindowEnd extends OutputPolicy

  /** A result lasts as long as its window. */
  case object ClipToWindowEnd extends OutputPolicy
}
