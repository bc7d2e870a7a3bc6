package transom.engine.conformance.vector

import transom.engine.window.{Cumulate, GridWindow, Hopping, Tumbling}

/** Reads the windows of a vector. */
object Settings {

  /** The grid of a vector. Each field comes from the first of `settings` that has the field. */
  def grid(scale: Scale, zone: String, settings: Json*): GridWindow = {
    def found(name: String) = settings.flatMap(_.get(name)).headOption
    def micros(name: String) =
      scale.in(found(name).getOrElse(throw new Malformed(s"windows have no field $name")).long)
    val offset = found("offset_ms").fold(0L)(json => scale.in(json.long))
    settings.last("type").string match {
      case "tumbling" => Tumbling(micros("size_ms"), offset, timeZone = zone)
      case "sliding" => Hopping(micros("size_ms"), micros("slide_ms"), offset, timeZone = zone)
      case "cumulate" =>
        Cumulate(micros("max_size_ms"), micros("step_ms"), offset, timeZone = zone)
      case other => throw new Malformed(s"windows of type $other are not on a grid")
    }
  }
}
