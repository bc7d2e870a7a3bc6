package transom.engine.log

import java.nio.ByteBuffer
import java.util.Arrays

import scala.collection.mutable

import transom.engine.Grid

/** Writes small segments many to an entry of the store behind, a bundle: what an entry costs
  * there hardly depends on its size, and of windows that overlap a lot a key group's slices hold
  * a few records each. Where each segment lies stands in front of the directory. A bundle goes
  * with the last of its segments.
  *
  * {{{
  * version byte, bundles int
  * bundle    id int, segments int
  * segment   slice long, sequence int, length int, negative once it is removed
  * }}}
  */
final class BundledStore(underlying: Store, targetSize: Int = BundledStore.TargetSize)
    extends Store {
  import BundledStore._

  private val bundles = mutable.TreeMap.empty[Int, Bundle]
  private val places = mutable.HashMap.empty[SegmentKey, Place]
  private val read = mutable.LinkedHashMap.empty[Int, Array[Byte]]

  override val directory: Array[Byte] = Option(underlying.directory).map(readPlaces).orNull

  override def saveDirectory(bytes: Array[Byte]): Unit = {
    val segments = bundles.valuesIterator.map(_.places.length).sum
    val size = HeaderSize + BundleSize * bundles.size + PlaceSize * segments + bytes.length
    val out = ByteBuffer.allocate(size)
    out.put(Version).putInt(bundles.size)
    bundles.valuesIterator.foreach { bundle =>
      out.putInt(bundle.id).putInt(bundle.places.length)
      bundle.places.foreach { place =>
        out.putLong(place.key.slice).putInt(place.key.sequence)
        out.putInt(if (place.isLive) place.length else -place.length)
      }
    }
    underlying.saveDirectory(out.put(bytes).array)
  }

  override def removeDirectory(): Unit = underlying.removeDirectory()

  override def get(slice: Long, sequence: Int): Array[Byte] =
    places.get(SegmentKey(slice, sequence)) match {
      case None => underlying.get(slice, sequence)
      case Some(place) =>
        Arrays.copyOfRange(bytesOf(place.bundle), place.at, place.at + place.length)
    }

  override def put(slice: Long, sequence: Int, segment: Array[Byte]): Unit =
    underlying.put(slice, sequence, segment)

  override def putAll(segments: Iterable[(SegmentKey, Array[Byte])]): Unit = {
    // Slices that follow each other are read together, and go together.
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
    places.remove(SegmentKey(slice, sequence)) match {
      case None => underlying.remove(slice, sequence)
      case Some(place) =>
        place.isLive = false
        // Slices go in order, so one that is live is found at the end at once.
        if (!place.bundle.places.reverseIterator.exists(_.isLive)) {
          underlying.remove(BundlesSlice, place.bundle.id)
          bundles.remove(place.bundle.id)
          read.remove(place.bundle.id)
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

  /** Enters the next segment of a bundle, which may be a removed one. */
  private def add(bundle: Bundle, key: SegmentKey, length: Int): Unit = {
    val at = bundle.places.lastOption.fold(0)(last => last.at + last.length)
    val place = new Place(bundle, key, at, math.abs(length), isLive = length > 0)
    bundle.places += place
    if (place.isLive) places(key) = place
    bundles(bundle.id) = bundle
  }

  private def bytesOf(bundle: Bundle): Array[Byte] = {
    val bytes = read.getOrElseUpdate(bundle.id, underlying.get(BundlesSlice, bundle.id))
    if (read.size > MostRead) read.remove(read.head._1)
    bytes
  }

  /** Answers what the directory holds besides. */
  private def readPlaces(bytes: Array[Byte]): Array[Byte] = {
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

object BundledStore {

  /** A bundle is cut at this size. */
  final val TargetSize = 1 << 15

  // Segments that are larger than this part of a bundle have an entry of their own.
  private final val LeastSegments = 4
  // Of those read last, so many are held.
  private final val MostRead = 64
  private val BundlesSlice = Grid.NoSlice
  // Directories without bundles had 1 and 2.
  private val Version: Byte = 3
  private final val HeaderSize = 5
  private final val BundleSize = 8
  private final val PlaceSize = 16

  private final class Bundle(val id: Int) {
    val places: mutable.ArrayBuffer[Place] = mutable.ArrayBuffer.empty
  }

  private final class Place(
      val bundle: Bundle,
      val key: SegmentKey,
      val at: Int,
      val length: Int,
      var isLive: Boolean)
}
