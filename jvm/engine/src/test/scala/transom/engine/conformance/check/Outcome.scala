package transom.engine.conformance.check

import transom.engine.conformance.vector.Json

/** The outcome of running a vector. */
sealed trait Outcome

object Outcome {
  case object Passed extends Outcome
  final case class Failed(problems: Seq[String]) extends Outcome
  final case class Skipped(reason: String) extends Outcome

  def of(problems: Seq[String]): Outcome = if (problems.isEmpty) Passed else Failed(problems)

  /** Returns the problem if the values differ. */
  def compare(what: String, expected: Any, got: Any): Option[String] =
    if (expected == got) None
    else Some(s"$what: expected ${Json.show(expected)}, got ${Json.show(got)}")

  /** Returns the problem if the values differ in more than their order. Names only the
    * differences.
    */
  def compareInAnyOrder(what: String, expected: Seq[Any], got: Seq[Any]): Option[String] =
    compare(what, expected.diff(got), got.diff(expected))
}
