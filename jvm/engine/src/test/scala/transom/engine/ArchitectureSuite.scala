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
    "runtime" -> Set("time", "spec", "window", "state"),
    "policy" -> Set("time", "spec", "window", "state", "runtime"),
    "combine" -> Set("window", "state"),
    "slice" -> Set("spec", "window", "state", "runtime"),
    "session" -> Set("spec", "window", "state", "runtime"),
    "keyed.keystate" -> Set("spec", "window", "state"),
    "keyed.trigger" -> Set("time", "spec", "window", "keyed.keystate"),
    "keyed.evictor" -> Set("time", "spec", "window", "keyed.keystate", "keyed.trigger"),
    "keyed" -> Set(
      "time",
      "spec",
      "window",
      "state",
      "runtime",
      "policy",
      "keyed.keystate",
      "keyed.trigger",
      "keyed.evictor"),
    "keyed.several" -> Set("time", "spec", "window", "state", "keyed", "keyed.keystate"),
    "sweep" -> Set("spec", "time", "window", "state", "keyed", "keyed.keystate"),
    "substream" -> Set(
      "time",
      "spec",
      "window",
      "state",
      "runtime",
      "policy",
      "keyed",
      "keyed.keystate"))
}
