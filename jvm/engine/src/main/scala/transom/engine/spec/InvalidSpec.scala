package transom.engine.spec

/** A setting that no window operator can run with. `field` is its name in the message. */
final class InvalidSpec(val field: String, val problem: String)
    extends IllegalArgumentException(s"$field $problem")
