import java.util.zip.{Deflater, Inflater}

import lu.luz.jzopfli.Deflate
import lu.luz.jzopfli.ZopfliH.ZopfliOptions

/** Compresses bytes to the Deflate format. The result is smaller than that of `java.util.zip`. */
object Zopfli {

  /** Zopfli's code for a block that has Huffman codes of its own. */
  private val DynamicBlock = 2

  /** Compresses a file.
    *
    * Zopfli's own search for block bounds takes 30 seconds for the jar and saves only 1 % more
    * than blocks at the given bounds.
    *
    * @param ends
    *   the offsets where the content of the file changes. Each part becomes a block.
    * @return
    *   the shortest of three results: blocks at all these offsets, blocks at the first offset
    *   only, and the result of the JDK
    */
  def apply(bytes: Array[Byte], ends: Seq[Int]): Array[Byte] = {
    val packed = Seq(ends, ends.take(1)).distinct.map(blocks(bytes, _)) :+ jdk(bytes)
    val shortest = packed.minBy(_.length)
    require(unpack(shortest, bytes.length).sameElements(bytes), "Zopfli changes the bytes.")
    shortest
  }

  private def blocks(bytes: Array[Byte], ends: Seq[Int]): Array[Byte] = {
    val options = new ZopfliOptions
    // More iterations take longer and save little.
    options.numiterations = 5
    options.blocksplitting = false
    // The encoder appends to `out(0)` and replaces the array when it is full.
    val out = Array(Array[Byte](0))
    val size = Array(0)
    val bit = Array[Byte](0)
    (0 +: ends).zip(ends :+ bytes.length).foreach { case (from, until) =>
      val isLast = until == bytes.length
      Deflate.ZopfliDeflatePart(options, DynamicBlock, isLast, bytes, from, until, bit, out, size)
    }
    out(0).take(size(0))
  }

  private def jdk(bytes: Array[Byte]): Array[Byte] = {
    val deflater = new Deflater(Deflater.BEST_COMPRESSION, true)
    deflater.setInput(bytes)
    deflater.finish()
    val buffer = new Array[Byte](bytes.length + 64)
    val size = deflater.deflate(buffer)
    deflater.end()
    buffer.take(size)
  }

  private def unpack(packed: Array[Byte], size: Int): Array[Byte] = {
    val inflater = new Inflater(true)
    inflater.setInput(packed)
    // One byte more, so that a longer result differs.
    val buffer = new Array[Byte](size + 1)
    val read = inflater.inflate(buffer)
    require(inflater.finished, "Zopfli's result has no end.")
    inflater.end()
    buffer.take(read)
  }
}
