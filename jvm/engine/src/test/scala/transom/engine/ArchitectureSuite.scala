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
    "setting" -> Set("time"),
    "firing" -> Set("time", "setting"),
    "window" -> Set("time", "setting", "firing"),
    "spec" -> Set("setting", "firing", "window"),
    "state" -> Set("window"),
    "runtime" -> Set("time", "setting", "window", "spec", "state"),
    "combine" -> Set("window", "state"),
    "slice" -> Set("window", "spec", "state", "runtime"),
    "session" -> Set("window", "state", "runtime"),
    "keyed.contract" -> Set("time", "firing", "window", "state", "runtime"),
    "keyed.keystate" -> Set("time", "firing", "window", "spec", "state", "keyed.contract"),
    "judge" -> Set(
      "time",
      "setting",
      "firing",
      "window",
      "spec",
      "state",
      "runtime",
      "keyed.keystate"),
    "sweep" -> Set("time", "window", "spec", "state", "runtime", "keyed.contract"),
    "keyed" -> Set(
      "time",
      "setting",
      "firing",
      "window",
      "spec",
      "state",
      "runtime",
      "judge",
      "keyed.contract",
      "keyed.keystate",
      "sweep"))
}
