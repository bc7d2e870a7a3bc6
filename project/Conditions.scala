import java.io.File
import java.nio.charset.StandardCharsets.UTF_8

import sbt.io.IO
import sjsonnew.shaded.scalajson.ast.unsafe.JObject
import sjsonnew.support.scalajson.unsafe.{CompactPrinter, Parser}

/** The texts of the error conditions that the JVM raises, without those that only Python raises.
  */
object Conditions {
  private val prefix = "TRANSOM_"

  /** The file with the conditions that the classes name, with or without their prefix.
    *
    * @param strings
    *   all strings of the classes
    */
  def raised(file: File, strings: Set[String], folder: File): File = {
    val all = Parser.parseUnsafe(IO.read(file, UTF_8)).asInstanceOf[JObject].value
    val raised = all.filter(condition =>
      strings(condition.field) || strings(condition.field.stripPrefix(prefix)))
    val written = new File(folder, file.getName)
    IO.write(written, CompactPrinter(JObject(raised)), UTF_8)
    written
  }
}
