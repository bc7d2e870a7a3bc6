import java.io.{BufferedOutputStream, File, FileOutputStream}
import java.util.zip._

import scala.collection.JavaConverters._

import sbt.io.IO

/** Writes a jar again in fewer bytes: with the best compression, without entries of directories,
  * and with the sizes in front of each file instead of in front and behind it.
  */
object Repack {
  def apply(jar: File): File = {
    val from = new ZipFile(jar)
    val packed = new File(jar.getPath + ".packed")
    try {
      val out = new ZipOutputStream(new BufferedOutputStream(new FileOutputStream(packed)))
      out.setLevel(Deflater.BEST_COMPRESSION)
      from.entries.asScala.filterNot(_.isDirectory).foreach { entry =>
        val bytes = IO.readBytes(from.getInputStream(entry))
        out.putNextEntry(entryOf(entry, bytes))
        out.write(bytes)
        out.closeEntry()
      }
      out.close()
    } finally from.close()
    IO.move(packed, jar)
    jar
  }

  private def entryOf(entry: ZipEntry, bytes: Array[Byte]): ZipEntry = {
    val written = new ZipEntry(entry.getName)
    written.setTime(entry.getTime)
    written.setSize(bytes.length.toLong)
    written.setCompressedSize(compressedSize(bytes))
    val crc = new CRC32
    crc.update(bytes)
    written.setCrc(crc.getValue)
    written
  }

  private def compressedSize(bytes: Array[Byte]): Long = {
    val deflater = new Deflater(Deflater.BEST_COMPRESSION, true)
    deflater.setInput(bytes)
    deflater.finish()
    val buffer = new Array[Byte](8192)
    while (!deflater.finished) deflater.deflate(buffer): Unit
    val size = deflater.getBytesWritten
    deflater.end()
    size
  }
}
