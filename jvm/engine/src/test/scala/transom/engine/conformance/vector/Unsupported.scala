package transom.engine.conformance.vector

/** The engine cannot run this so far, or the vector is not about transom's windows. */
final class Unsupported(val reason: String) extends RuntimeException(reason)

object Unsupported {
  def apply(reason: String): Nothing = throw new Unsupported(reason)
}
