package transom.engine.setting

/** A setting of a window operator is invalid.
  *
  * @param field
  *   name of the setting in the message
  * @param problem
  *   what is wrong with the setting; follows the name in the error message
  * @param condition
  *   the error condition that users of Python and SQL see, without its prefix
  * @param parameters
  *   the parameters of the condition. Without "argument", the field is the argument
  */
final class InvalidSpec(
    val field: String,
    val problem: String,
    val condition: String,
    val parameters: Map[String, String])
    extends IllegalArgumentException(s"$field $problem")
