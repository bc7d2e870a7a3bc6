package transom.engine.combine

/** Counts the bytes that the tables of a task occupy. */
final class MemoryUsage {
  var bytes: Long = 0L
}
