package transom.engine.conformance

import transom.engine._

/** Vectors about which windows merge. */
object SessionKinds {

  def intersects(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { asked =>
      val (a, b) = (scale.window(asked("a")), scale.window(asked("b")))
      val got = Seq(Sessions.intersects(a, b), Sessions.intersects(b, a))
      Outcome.compare(s"$asked", Seq.fill(2)(asked("intersects").boolean), got)
    })
  }

  /** Windows that stay alone are no merge. */
  def merge(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { asked =>
      val expected = asked("merges").elements.map { merge =>
        (merge("result").value, merge("sources").elements.map(_.value).groupBy(identity))
      }
      val got = Sessions
        .merge(asked("windows").elements.map(scale.window))
        .filter(_.sources.size > 1)
        .map(merged =>
          (scale.show(merged.window), merged.sources.map(scale.show).groupBy(identity)))
      Outcome.compare(s"merges of ${asked("windows")}", expected.toSet, got.toSet)
    })
  }

  def mergingSet(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val steps = vector("cases").elements
    val start = (MergingWindowSet(), Seq.empty[String])
    Outcome.of(
      steps
        .foldLeft(start) { case ((set, problems), step) =>
          if (step.has("retire")) (set.retire(scale.window(step("retire"))), problems)
          else {
            val added = set.add(scale.window(step("add")))
            (added.set, problems ++ differences(step, added, scale))
          }
        }
        ._2)
  }

  private def differences(
      step: Json,
      added: MergingWindowSet.Added,
      scale: Scale): Seq[String] = {
    val name = scale.show(added.set.names(added.session))
    val merged = Map(
      "result" -> scale.show(added.session),
      "merged" -> added.merged.nonEmpty,
      "sources" -> added.merged.map(scale.show).toSet)
    val expected = Map(
      "result" -> step("result").value,
      "merged" -> step("merged").boolean,
      "sources" -> step.get("sources").fold(Set.empty[Any])(_.elements.map(_.value).toSet))
    val names = step.get("state_window_one_of").map(_.elements.map(_.value))
    Outcome.compare(s"after adding ${step("add")}", expected, merged).toSeq ++
      names
        .filterNot(_.contains(name))
        .map(some => s"name of $step: expected one of $some, got $name")
  }
}
