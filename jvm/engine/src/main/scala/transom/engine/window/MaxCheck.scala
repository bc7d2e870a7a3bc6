package transom.engine.window

/** Which sessions a check of the maximum duration closes. */
sealed trait MaxCheck

/** The values of [[MaxCheck]]. */
object MaxCheck {

  /** Sessions that have lasted the maximum duration or longer. */
  case object AtLeast extends MaxCheck

  /** Sessions that have lasted longer than the maximum duration. */
  case object Above extends MaxCheck
}
