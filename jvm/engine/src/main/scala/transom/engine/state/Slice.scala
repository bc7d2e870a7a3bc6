package transom.engine.state

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

/** A sorted run of records in a slice: consecutive segments, each continuing the previous one.
  *
  * @param first
  *   sequence number of the first segment
  * @param segments
  *   number of segments
  * @param bytes
  *   total size of the segments
  * @param parts
  *   one part per segment if the run holds sessions, else empty
  */
final class Run(
    val first: Int,
    val segments: Int,
    val bytes: Long,
    val parts: Vector[StoredSegment] = Vector.empty)

/** The directory's entry for a segment of sessions. It shows whether the segment must be read.
  *
  * @param from
  *   hash of the first record
  * @param to
  *   hash of the last record
  * @param earliestLast
  *   the earliest last row time of the sessions that may still close, in microseconds;
  *   `Long.MaxValue` if none may
  */
final class StoredSegment(val from: Long, val to: Long, var earliestLast: Long) {

  /** Whether the segment may hold one of the hashes. `hashes` must be sorted. */
  def mayHold(hashes: Array[Long]): Boolean = {
    val found = Arrays.binarySearch(hashes, from)
    val next = if (found < 0) -found - 1 else found
    next < hashes.length && hashes(next) <= to
  }
}

/** The directory's entry for one live slice, or for one block of slices.
  *
  * @param start
  *   start in grid time, in microseconds
  * @param level
  *   0 for a slice, else the level of the block, see `Blocks`
  */
final class Slice(val start: Long, val level: Int = 0) {
  val runs: ArrayBuffer[Run] = ArrayBuffer.empty

  /** The earliest last row time of the slice's sessions that may still close, in microseconds.
    * `Long.MaxValue` if there is none. See `SessionLog`.
    */
  def earliestLast: Long =
    parts.foldLeft(Long.MaxValue)((least, part) => math.min(least, part.earliestLast))

  def parts: Iterator[StoredSegment] = runs.iterator.flatMap(_.parts)

  def bytes: Long = runs.foldLeft(0L)((sum, run) => sum + run.bytes)

  // A block and a slice may have the same start, so each level has its own range of sequence
  // numbers.
  def nextSequence: Int =
    runs.lastOption.fold(level << Slice.LevelShift)(run => run.first + run.segments)
}

/** Constants of [[Slice]]. */
private object Slice {
  final val LevelShift = 27
}
