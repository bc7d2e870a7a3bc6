package transom.engine.combine

/** Counts the bytes that the tables of a task occupy. */
final class MemoryUsage {

  /** The number of bytes. Tables update it when they allocate and free memory. The map side adds
    * an estimate for accumulators that hold objects. `AccumulatorTables.drain` resets it once no
    * record is left.
    */
  var bytes: Long = 0L
}
