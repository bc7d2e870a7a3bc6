package transom.engine.conformance.vector

/** The engine does not support the vector yet, or the vector does not concern transom's windows.
  */
final class Unsupported(val reason: String) extends RuntimeException(reason)

object Unsupported {
  def apply(reason: String): Nothing = throw new Unsupported(reason)
}
