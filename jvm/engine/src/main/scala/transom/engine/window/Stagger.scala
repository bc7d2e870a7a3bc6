package transom.engine.window

/** How far windows are shifted beyond their offset, so that key groups do not all fire at once.
  */
sealed trait Stagger

/** The values of [[Stagger]]. */
object Stagger {

  /** No shift. */
  case object Aligned extends Stagger

  /** A random shift for each key group. */
  case object Random extends Stagger

  /** The time from the window start to the first row of the key group. */
  case object Natural extends Stagger
}
