import java.io.{ByteArrayInputStream, File}
import java.util.zip.{CRC32, ZipEntry, ZipFile}

import scala.collection.JavaConverters._

import org.apache.commons.compress.archivers.zip.{ZipArchiveEntry, ZipArchiveOutputStream}
import sbt.io.IO

/** Rewrites a jar in fewer bytes: Zopfli compresses the files, and folders have no entries. */
object Repack {
  private final case class Packed(entry: ZipEntry, bytes: Array[Byte], packed: Array[Byte])

  def apply(jar: File): File = {
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
      Packed(entry, bytes, Zopfli(bytes, ends))
    }.seq
    val written = new File(jar.getPath + ".packed")
    val out = new ZipArchiveOutputStream(written)
    try packed.foreach(file => out.addRawArchiveEntry(entryOf(file), in(file.packed)))
    finally out.close()
    IO.move(written, jar)
    jar
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
