package transom.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.ArchConfiguration
import com.tngtech.archunit.core.importer.ClassFileImporter
import munit.FunSuite

/** Checks which packages of a project use each other.
  *
  * Uses come from the bytecode, which names inferred types too, and from the import lines. The
  * compiler inlines constants, so the bytecode does not show where a constant comes from.
  *
  * @param root
  *   the prefix that the table leaves out of package names
  * @param member
  *   any class of the project
  * @param sources
  *   the directory of the project's sources
  * @param table
  *   for each package, the packages that it may use
  */
abstract class PackageSuite(
    root: String,
    member: Class[_],
    sources: String,
    table: Seq[(String, Set[String])])
    extends FunSuite {
  import PackageSuite._

  // Classes outside the project matter only by their names. Reading them takes long.
  ArchConfiguration.get.setResolveMissingDependenciesFromClassPath(false)

  // Read here and not in a test, so that no test takes longer than its time limit.
  private val classes = new ClassFileImporter()
    .importUrl(member.getProtectionDomain.getCodeSource.getLocation)
    .asScala
    .toVector

  private val packages = classes.map(_.getPackageName).toSet

  private val uses: Seq[Use] =
    (usesInBytecode ++ usesInImports).filter(use => use.from != use.to)

  private val allowed = table.toMap.withDefaultValue(Set.empty[String])

  test("the table lists every package") {
    assertEquals(packages.flatMap(nameOf), table.map(_._1).toSet)
  }

  test("a package uses only the packages that the table allows") {
    val forbidden = uses.filterNot(use => allowed(use.from)(use.to))
    assert(forbidden.isEmpty, forbidden.mkString("\n", "\n", ""))
  }

  test("a class uses each package that the table allows") {
    val used = uses.map(use => (use.from, use.to)).toSet
    val unused =
      for ((from, targets) <- table; to <- targets if !used((from, to))) yield s"$from -> $to"
    assert(unused.isEmpty, unused.mkString("no class uses ", ", ", ""))
  }

  test("packages have no cycles: a package may use only packages above it in the table") {
    table.map(_._1).inits.foreach {
      case above :+ last => assertEquals(allowed(last) -- above, Set.empty[String], last)
      case _ =>
    }
  }

  test("a comment of at most 20 lines says what the parts of each package do together") {
    val comments = files.filter(_.endsWith("package.scala")).map { file =>
      val lines = Files.readAllLines(file).asScala
      val parent = lines.head.stripPrefix("package ")
      val name = s"$parent.${lines.last.stripPrefix("package object ")}"
      name -> lines.count(line => line.matches(" *(/\\*\\*|\\* ).*"))
    }
    assertEquals(comments.flatMap { case (name, _) => nameOf(name) }.toSet, table.map(_._1).toSet)
    comments.foreach { case (name, length) => assert(length > 0 && length <= 20, (name, length)) }
  }

  private def usesInBytecode: Seq[Use] = for {
    one <- classes
    dependency <- one.getDirectDependenciesFromSelf.asScala
    from <- nameOf(one.getPackageName)
    to <- nameOf(dependency.getTargetClass.getPackageName)
  } yield Use(from, to, dependency.getDescription)

  private def usesInImports: Seq[Use] = for {
    file <- files
    lines = Files.readAllLines(file).asScala
    from <- nameOf(lines.head.stripPrefix("package ")).iterator
    line <- lines.iterator
    to <- Import.findPrefixMatchOf(line).map(_.group(1)).flatMap(nameOf)
  } yield Use(from, to, s"$line ($file)")

  private def files: Seq[Path] = {
    val found = Files.walk(Path.of(sources))
    try found.iterator.asScala.filter(_.toString.endsWith(".scala")).toVector
    finally found.close()
  }

  /** The name of a package in the table; none for packages of other projects. */
  private def nameOf(name: String): Option[String] =
    Option.when(packages(name))(name.stripPrefix(s"$root."))
}

private object PackageSuite {

  /** A use of one package in another, and where it is. */
  final case class Use(from: String, to: String, place: String) {
    override def toString: String = s"$from uses $to: $place"
  }

  private val Import = """import ([a-z]+(?:\.[a-z]+)*)\.""".r
}
