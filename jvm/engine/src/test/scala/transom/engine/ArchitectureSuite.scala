package transom.engine

import transom.engine.window.Grid

/** Checks which packages of the engine use each other. */
class ArchitectureSuite
    extends PackageSuite(
      "transom.engine",
      classOf[Grid],
      "jvm/engine/src/main/scala",
      ArchitectureSuite.Table)

private object ArchitectureSuite {

  val Table: Seq[(String, Set[String])] = Seq(
    "time" -> Set(),
    "spec" -> Set("time"),
    "window" -> Set("time", "spec"),
    "state" -> Set("window"),
    "operator" -> Set("time", "spec", "window", "state"),
    "policy" -> Set("time", "spec", "window", "state", "operator"),
    "combine" -> Set("window", "state"),
    "slice" -> Set("spec", "window", "state", "operator"),
    "session" -> Set("spec", "window", "state", "operator"),
    "keyed.state" -> Set("spec", "window", "state"),
    "keyed.trigger" -> Set("time", "spec", "window", "keyed.state"),
    "keyed.evictor" -> Set("time", "spec", "window", "keyed.state", "keyed.trigger"),
    "keyed" -> Set(
      "time",
      "spec",
      "window",
      "state",
      "operator",
      "policy",
      "keyed.state",
      "keyed.trigger",
      "keyed.evictor"),
    "keyed.several" -> Set("time", "spec", "window", "state", "keyed", "keyed.state"),
    "sweep" -> Set("spec", "time", "window", "state", "keyed", "keyed.state"),
    "substream" -> Set(
      "time",
      "spec",
      "window",
      "state",
      "operator",
      "policy",
      "keyed",
      "keyed.state"))
}
