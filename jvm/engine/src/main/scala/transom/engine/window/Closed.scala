package transom.engine.window

/** Which bound of a window is inclusive. */
sealed trait Closed

/** The values of [[Closed]]. */
object Closed {

  /** The start is inclusive, the end exclusive. */
  case object Left extends Closed

  /** The start is exclusive, the end inclusive. */
  case object Right extends Closed
}
