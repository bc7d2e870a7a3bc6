package transom.engine.conformance.check

import transom.engine.conformance.vector.Json

/** What became of a vector. */
sealed trait Outcome

object Outcome {
  case object Passed extends Outcome
  final case class Failed(problems: Seq[String]) extends Outcome
  final case class Skipped(reason: String) extends Outcome

  def of(problems: Seq[String]): Outcome = if (problems.isEmpty) Passed else Failed(problems)

  /** The problem if the two differ. */
  def compare(what: String, expected: Any, got: Any): Option[String] =
    if (expected == got) None
    else Some(s"$what: expected ${Json.show(expected)}, got ${Json.show(got)}")

  /** The problem if the two differ in more than order; names only what differs. */
  def compareInAnyOrder(what: String, expected: Seq[Any], got: Seq[Any]): Option[String] =
    compare(what, expected.diff(got), got.diff(expected))
}
