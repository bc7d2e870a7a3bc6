package transom.engine.state

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable

import transom.engine.window.Grid

/** Groups small segments into bundles, and stores each bundle as one entry.
  *
  * The cost of an entry in the underlying store hardly depends on its size. With strongly
  * overlapping windows, the slices of a key group hold only a few records each, so one entry per
  * segment would be expensive. The positions of the segments are saved in front of the directory.
  * A bundle is removed with its last live segment.
  *
  * {{{
  * version byte, bundles int
  * bundle    id int, segments int
  * segment   slice long, sequence int, length int, negative once it is removed
  * }}}
  *
  * Not thread-safe.
  *
  * @param underlying
  *   the store of the key group
  * @param targetSize
  *   largest size of a bundle, in bytes
  */
final class BundledStore(underlying: SegmentStore, targetSize: Int) extends SegmentStore {
  import BundledStore._

  private val bundles = mutable.TreeMap.empty[Int, Bundle]
  private val positions = mutable.HashMap.empty[SegmentKey, Position]
  private val read = mutable.LinkedHashMap.empty[Int, Array[Byte]]

  override val directory: Array[Byte] = Option(underlying.directory).map(readPositions).orNull

  override def saveDirectory(bytes: Array[Byte]): Unit = {
    val segments = bundles.valuesIterator.map(_.positions.length).sum
    val size = HeaderSize + BundleSize * bundles.size + PositionSize * segments + bytes.length
    val out = ByteBuffer.allocate(size)
    out.put(Version).putInt(bundles.size)
    bundles.valuesIterator.foreach { bundle =>
      out.putInt(bundle.id).putInt(bundle.positions.length)
      bundle.positions.foreach { position =>
        out.putLong(position.key.slice).putInt(position.key.sequence)
        out.putInt(if (position.isLive) position.length else -position.length)
      }
    }
    underlying.saveDirectory(out.put(bytes).array)
  }

  override def removeDirectory(): Unit = underlying.removeDirectory()

  override def get(slice: Long, sequence: Int): Array[Byte] =
    positions.get(SegmentKey(slice, sequence)) match {
      case None => underlying.get(slice, sequence)
      case Some(position) =>
        Arrays.copyOfRange(bytesOf(position.bundle), position.at, position.at + position.length)
    }

  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    underlying.put(slice, sequence, segment)

  override def putAll(segments: Iterable[(SegmentKey, Array[Byte])]): Unit = {
    // Adjacent slices are read together and removed together, so they share a bundle.
    val sorted = segments.toVector.sortBy(_._1.slice)
    val (small, large) = sorted.partition(_._2.length <= targetSize / LeastSegments)
    underlying.putAll(large)
    var from = 0
    while (from < small.length) {
      var until = from
      var size = 0
      while (until < small.length && size + small(until)._2.length <= targetSize) {
        size += small(until)._2.length
        until += 1
      }
      if (until - from == 1) underlying.putAll(small.slice(from, until))
      else bundle(small.slice(from, until), size)
      from = until
    }
  }

  override def remove(slice: Long, sequence: Int): Unit =
    positions.remove(SegmentKey(slice, sequence)) match {
      case None => underlying.remove(slice, sequence)
      case Some(position) =>
        position.isLive = false
        // Slices are removed in order, so the search from the end finds a live segment at once.
        if (!position.bundle.positions.reverseIterator.exists(_.isLive)) {
          underlying.remove(BundlesSlice, position.bundle.id)
          bundles.remove(position.bundle.id)
          read.remove(position.bundle.id)
        }
    }

  private def bundle(segments: Seq[(SegmentKey, Array[Byte])], size: Int): Unit = {
    val bundle = new Bundle(bundles.lastOption.fold(0)(_._1 + 1))
    val bytes = ByteBuffer.allocate(size)
    segments.foreach { case (key, segment) =>
      add(bundle, key, segment.length)
      bytes.put(segment)
    }
    underlying.put(BundlesSlice, bundle.id, bytes.array)
  }

  /** Registers the next segment of a bundle.
    *
    * @param bundle
    *   the bundle
    * @param key
    *   the name of the segment
    * @param length
    *   size in bytes; negative if the segment has been removed
    */
  private def add(bundle: Bundle, key: SegmentKey, length: Int): Unit = {
    val at = bundle.positions.lastOption.fold(0)(last => last.at + last.length)
    val position = new Position(bundle, key, at, math.abs(length), isLive = length > 0)
    bundle.positions += position
    if (position.isLive) positions(key) = position
    bundles(bundle.id) = bundle
  }

  private def bytesOf(bundle: Bundle): Array[Byte] = {
    val bytes = read.getOrElseUpdate(bundle.id, underlying.get(BundlesSlice, bundle.id))
    if (read.size > MostRead) read.remove(read.head._1)
    bytes
  }

  /** Reads the positions of the segments, and returns the rest of the directory. */
  private def readPositions(bytes: Array[Byte]): Array[Byte] = {
    val in = ByteBuffer.wrap(bytes)
    val version = in.get()
    if (version != Version) throw new UnknownSegmentVersion(version.toInt, Version.toInt)
    (0 until in.getInt()).foreach { _ =>
      val bundle = new Bundle(in.getInt())
      (0 until in.getInt()).foreach(_ =>
        add(bundle, SegmentKey(in.getLong(), in.getInt()), in.getInt()))
    }
    Arrays.copyOfRange(bytes, in.position(), bytes.length)
  }
}

/** Constants and helpers of [[BundledStore]]. */
private object BundledStore {

  // Segments larger than this fraction of a bundle, here a quarter, get their own entry.
  private final val LeastSegments = 4
  // Number of bundles to cache. The bundle that was loaded first is evicted first.
  private final val MostRead = 64
  // No slice starts at `NoSlice`, so bundles cannot collide with segments.
  private final val BundlesSlice = Grid.NoSlice
  // Differs from the versions of a directory without bundles.
  private val Version: Byte = 4
  private final val HeaderSize = 5
  private final val BundleSize = 8
  private final val PositionSize = 16

  /** A bundle and the positions of its segments, including removed ones. */
  private final class Bundle(val id: Int) {
    val positions: mutable.ArrayBuffer[Position] = mutable.ArrayBuffer.empty
  }

  /** The position of a segment in its bundle, in bytes. */
  private final class Position(
      val bundle: Bundle,
      val key: SegmentKey,
      val at: Int,
      val length: Int,
      var isLive: Boolean)
}
