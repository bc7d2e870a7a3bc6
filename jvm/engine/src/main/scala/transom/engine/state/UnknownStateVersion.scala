package transom.engine.state

/** Thrown when the state was written in a format that this version of the library cannot read.
  *
  * @param what
  *   the owner of the state
  * @param reads
  *   the format that this version reads
  */
final class UnknownStateVersion(what: String, val version: Int, reads: Int)
    extends IllegalStateException(
      s"the state of $what has format $version, this version reads $reads: " +
        "continue with the version that wrote the checkpoint, or start with a new checkpoint")
