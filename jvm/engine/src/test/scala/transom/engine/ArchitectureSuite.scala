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
    "policy" -> Set("time", "setting", "firing", "window", "spec", "state", "runtime"),
    "combine" -> Set("window", "state"),
    "slice" -> Set("window", "spec", "state", "runtime"),
    "session" -> Set("window", "spec", "state", "runtime"),
    "keyed.contract" -> Set("time", "firing", "window", "state", "runtime"),
    "keyed.keystate" -> Set("time", "firing", "window", "spec", "state", "keyed.contract"),
    "sweep" -> Set("time", "window", "spec", "state", "runtime", "keyed.contract"),
    "keyed" -> Set(
      "time",
      "setting",
      "firing",
      "window",
      "spec",
      "state",
      "runtime",
      "policy",
      "keyed.contract",
      "keyed.keystate",
      "sweep"),
    "substream" -> Set(
      "time",
      "window",
      "spec",
      "state",
      "runtime",
      "policy",
      "keyed",
      "keyed.keystate"))
}
