import sbt._

/** Carries build.sbt's version to where other languages and the jar itself read it. */
object Version {

  def pythonFile(root: File): File = root / "python" / "transom" / "_version.py"

  def pythonSource(version: String): String =
    s"""\"\"\"The version, written by sbt from build.sbt: change it there, then run ``make build``.\"\"\"
       |
       |__version__ = "$version"
       |""".stripMargin

  def writePython(root: File, version: String): Unit = {
    val file = pythonFile(root)
    if (!isCurrent(root, version)) IO.write(file, pythonSource(version))
  }

  def isCurrent(root: File, version: String): Boolean = {
    val file = pythonFile(root)
    file.exists && IO.read(file) == pythonSource(version)
  }

  def scalaSource(version: String): String =
    s"""package org.apache.spark.sql.transom.plan
       |
       |/** The version of the jar. The build writes this file. */
       |object BuildInfo {
       |  val version: String = "$version"
       |}
       |""".stripMargin
}
