package transom.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.ArchConfiguration
import com.tngtech.archunit.core.importer.ClassFileImporter
import munit.FunSuite

import transom.engine.window.Grid

/** Checks which packages of the engine use each other.
  *
  * Uses come from the bytecode, which names inferred types too, and from the import lines. The
  * compiler inlines constants, so the bytecode does not show where a constant comes from.
  */
class ArchitectureSuite extends FunSuite {
  import ArchitectureSuite._

  test("the table lists every package of the engine") {
    assertEquals(packages, Table.map(_._1).toSet)
  }

  test("a package uses only the packages that the table allows") {
    val forbidden = uses.filterNot(use => allowed(use.from)(use.to))
    assert(forbidden.isEmpty, forbidden.mkString("\n", "\n", ""))
  }

  test("a class uses each package that the table allows") {
    val used = uses.map(use => (use.from, use.to)).toSet
    val unused =
      for ((from, targets) <- Table; to <- targets if !used((from, to))) yield s"$from -> $to"
    assert(unused.isEmpty, unused.mkString("no class uses ", ", ", ""))
  }

  test("packages have no cycles: a package may use only packages above it in the table") {
    Table.map(_._1).inits.foreach {
      case above :+ last => assertEquals(allowed(last) -- above, Set.empty[String], last)
      case _ =>
    }
  }
}

object ArchitectureSuite {

  /** For each package, the packages that it may use. */
  private val Table: Seq[(String, Set[String])] = Seq(
    "time" -> Set(),
    "spec" -> Set("time"),
    "window" -> Set("time", "spec"),
    "state" -> Set("window"),
    "operator" -> Set("time", "spec", "window", "state"),
    "combine" -> Set("window", "state"),
    "slice" -> Set("spec", "window", "state", "operator"),
    "session" -> Set("spec", "window", "state", "operator"),
    "keyed.state" -> Set("window", "state"),
    "keyed.trigger" -> Set("time", "spec", "window", "keyed.state"),
    "keyed.evictor" -> Set("time", "spec", "window", "keyed.state", "keyed.trigger"),
    "keyed" -> Set(
      "time",
      "spec",
      "window",
      "state",
      "operator",
      "keyed.state",
      "keyed.trigger",
      "keyed.evictor"))

  private val allowed = Table.toMap.withDefaultValue(Set.empty[String])

  /** A place where one package uses another one. */
  private final case class Use(from: String, to: String, place: String) {
    override def toString: String = s"$from uses $to: $place"
  }

  private val Import = """import (transom\.engine(?:\.[a-z]+)*)\.""".r

  // Classes outside the engine matter only by their names. Reading them takes seconds.
  ArchConfiguration.get.setResolveMissingDependenciesFromClassPath(false)

  private val classes = new ClassFileImporter()
    .importUrl(classOf[Grid].getProtectionDomain.getCodeSource.getLocation)
    .asScala
    .toVector

  private val packages = classes.flatMap(one => packageOf(one.getPackageName)).toSet

  private val uses: Seq[Use] = (usesInBytecode ++ usesInImports).filter(use => use.from != use.to)

  private def usesInBytecode: Seq[Use] = for {
    one <- classes
    dependency <- one.getDirectDependenciesFromSelf.asScala
    from <- packageOf(one.getPackageName)
    to <- packageOf(dependency.getTargetClass.getPackageName)
  } yield Use(from, to, dependency.getDescription)

  private def usesInImports: Seq[Use] = for {
    file <- sources
    lines = Files.readAllLines(file).asScala
    from <- packageOf(lines.head.stripPrefix("package ")).iterator
    line <- lines.iterator
    to <- Import.findPrefixMatchOf(line).map(_.group(1)).flatMap(packageOf)
  } yield Use(from, to, s"$line ($file)")

  private def sources: Seq[Path] = {
    val files = Files.walk(Path.of("jvm/engine/src/main/scala"))
    try files.iterator.asScala.filter(_.toString.endsWith(".scala")).toVector
    finally files.close()
  }

  /** The name of a package within the engine; none for other packages. */
  private def packageOf(name: String): Option[String] =
    Option.when(name.startsWith("transom.engine."))(name.stripPrefix("transom.engine."))
}
