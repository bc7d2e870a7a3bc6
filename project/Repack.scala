import java.io.{ByteArrayInputStream, File}
import java.util.zip.{CRC32, ZipEntry, ZipFile}

import scala.collection.JavaConverters._

import org.apache.commons.compress.archivers.zip.{ZipArchiveEntry, ZipArchiveOutputStream}
import sbt.io.{Hash, IO}

/** Rewrites a jar in fewer bytes: Zopfli compresses the files, and folders have no entries.
  *
  * Zopfli is slow, so a folder keeps its results, by the hash of the file. `make clean` empties
  * the folder.
  */
object Repack {
  private final case class Packed(entry: ZipEntry, bytes: Array[Byte], packed: Array[Byte])

  def apply(jar: File, kept: File): File = {
    val from = new ZipFile(jar)
    val files =
      try {
        from.entries.asScala
          .filterNot(_.isDirectory)
          .map(entry => entry -> IO.readBytes(from.getInputStream(entry)))
          .toVector
      } finally from.close()
    val packed = files.par.map { case (entry, bytes) =>
      val ends = if (entry.getName.endsWith(".class")) ConstantPool.ends(bytes) else Nil
      Packed(entry, bytes, once(new File(kept, Hash.toHex(Hash(bytes))), Zopfli(bytes, ends)))
    }.seq
    val written = new File(jar.getPath + ".packed")
    val out = new ZipArchiveOutputStream(written)
    try packed.foreach(file => out.addRawArchiveEntry(entryOf(file), in(file.packed)))
    finally out.close()
    IO.move(written, jar)
    jar
  }

  /** The bytes of a file. Writes the file first if it does not exist, as a whole or not at all.
    */
  private def once(file: File, bytes: => Array[Byte]): Array[Byte] = {
    if (!file.exists) {
      val written = new File(file.getPath + ".new")
      IO.write(written, bytes)
      IO.move(written, file)
    }
    IO.readBytes(file)
  }

  private def entryOf(file: Packed): ZipArchiveEntry = {
    val entry = new ZipArchiveEntry(file.entry.getName)
    entry.setTime(file.entry.getTime)
    entry.setMethod(ZipEntry.DEFLATED)
    entry.setSize(file.bytes.length.toLong)
    entry.setCompressedSize(file.packed.length.toLong)
    val crc = new CRC32
    crc.update(file.bytes)
    entry.setCrc(crc.getValue)
    entry
  }

  private def in(bytes: Array[Byte]) = new ByteArrayInputStream(bytes)
}
