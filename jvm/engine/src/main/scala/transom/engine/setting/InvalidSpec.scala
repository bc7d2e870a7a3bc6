package transom.engine.setting

/** A setting of a window operator is invalid.
  *
  * @param field
  *   name of the setting in the message
  * @param problem
  *   what is wrong with the setting; follows the name in the error message
  */
final class InvalidSpec(val field: String, val problem: String)
    extends IllegalArgumentException(s"$field $problem")
