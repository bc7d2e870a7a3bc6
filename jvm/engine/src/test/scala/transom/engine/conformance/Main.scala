package transom.engine.conformance

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import transom.engine.conformance.check.Outcome

/** Runs the vectors below a directory through the engine alone. */
object Main {

  def main(args: Array[String]): Unit = args match {
    case Array("--vectors", directory) => sys.exit(if (run(Paths.get(directory))) 0 else 1)
    case _ =>
      Console.err.println("usage: --vectors <directory of JSON files>")
      sys.exit(2)
  }

  /** Whether no vector failed. */
  def run(directory: Path): Boolean = {
    val outcomes = files(directory).map { file =>
      val outcome = Vectors.run(Files.readAllBytes(file))
      outcome match {
        case Outcome.Passed =>
        case Outcome.Failed(problems) =>
          problems.foreach(problem => println(s"FAILED ${directory.relativize(file)}: $problem"))
        case Outcome.Skipped(reason) =>
          println(s"SKIPPED ${directory.relativize(file)}: $reason")
      }
      outcome
    }
    val passed = outcomes.count(_ == Outcome.Passed)
    val failed = outcomes.count(_.isInstanceOf[Outcome.Failed])
    println(s"engine: $passed passed, $failed failed, ${outcomes.size - passed - failed} skipped")
    failed == 0
  }

  private def files(directory: Path): Seq[Path] =
    Using.resource(Files.walk(directory)) { paths =>
      paths.iterator.asScala.filter(_.toString.endsWith(".json")).toVector.sorted
    }
}
