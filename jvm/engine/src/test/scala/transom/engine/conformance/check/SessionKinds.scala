package transom.engine.conformance.check

import java.util.TreeMap

import scala.jdk.CollectionConverters._

import transom.engine.conformance.vector.{Json, Scale}
import transom.engine.keyed.keystate.KeyState
import transom.engine.window.{MergingWindows, Sessions, TimeWindow}

/** Runs vectors about merging windows. */
object SessionKinds {

  def intersects(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { query =>
      val (a, b) = (scale.window(query("a")), scale.window(query("b")))
      val got = Seq((a, b), (b, a)).map { case (one, other) =>
        Sessions.intersects(one, other, inclusive = true)
      }
      Outcome.compare(s"$query", Seq.fill(2)(query("intersects").boolean), got)
    })
  }

  /** Runs vectors that list merges. A window that meets no other window is not a merge. */
  def merge(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    Outcome.of(vector("cases").elements.flatMap { query =>
      val expected = query("merges").elements.map { merge =>
        (merge("result").value, merge("sources").elements.map(_.value).groupBy(identity))
      }
      val merged = new TreeMap[TimeWindow, Seq[TimeWindow]](KeyState.ByBounds)
      query("windows").elements.map(scale.window).foreach { own =>
        val target = MergingWindows.targetOf(merged, own, inclusive = true)
        merged.keySet.asScala.filter(target.bounds.contains).toSeq.foreach(merged.remove)
        merged.put(target.bounds, target.sources.flatten.toSeq :+ own)
      }
      val got = merged.asScala.toSeq.collect {
        case (window, sources) if sources.size > 1 =>
          (scale.show(window), sources.map(scale.show).groupBy(identity))
      }
      Outcome.compare(s"merges of ${query("windows")}", expected.toSet, got.toSet)
    })
  }

  /** Runs vectors about Flink's set of merging windows. Each open window has the name of the
    * window in whose state its contents are.
    */
  def mergingSet(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val names = new TreeMap[TimeWindow, TimeWindow](KeyState.ByBounds)
    Outcome.of(vector("cases").elements.flatMap { step =>
      if (step.has("retire")) {
        names.remove(scale.window(step("retire")))
        Nil
      } else add(step, scale, names)
    })
  }

  private def add(
      step: Json,
      scale: Scale,
      names: TreeMap[TimeWindow, TimeWindow]): Seq[String] = {
    val own = scale.window(step("add"))
    val before = names.keySet.asScala.toSet
    val target = MergingWindows.targetOf(names, own, inclusive = true)
    val name = target.sources.headOption.getOrElse(own)
    before.filter(target.bounds.contains).foreach(names.remove)
    names.put(target.bounds, name)
    val merged = if (target.isMerge) before -- names.keySet.asScala else Set.empty[TimeWindow]
    val got = Map(
      "result" -> scale.show(target.bounds),
      "merged" -> target.isMerge,
      "sources" -> merged.map(scale.show))
    val expected = Map(
      "result" -> step("result").value,
      "merged" -> step("merged").boolean,
      "sources" -> step.get("sources").fold(Set.empty[Any])(_.elements.map(_.value).toSet))
    Outcome.compare(s"after adding ${step("add")}", expected, got).toSeq ++
      step
        .get("state_window_one_of")
        .map(_.elements.map(_.value))
        .filterNot(_.contains(scale.show(name)))
        .map(some => s"name of $step: expected one of $some, got $name")
  }
}
