package transom.engine.setting

import java.nio.file.{Files, Path}

import munit.Assertions

/** What the tests expect of a setting that is refused. */
object Refusal extends Assertions {
  private val conditions = ujson.read(Files.readString(Path.of("spec/error-conditions.json"))).obj

  private val placeholder = "<([a-z_]+)>".r

  /** The field that is refused. The error also has a condition of users, with all parameters of
    * its text.
    */
  def fieldOf(build: => Any): String = {
    val refused = intercept[InvalidSpec](build)
    val text = conditions(s"TRANSOM_${refused.condition}")("message")(0).str
    val needed = placeholder.findAllMatchIn(text).map(_.group(1)).toSet
    assertEquals(refused.parameters.keySet + "argument", needed + "argument", refused.condition)
    refused.field
  }
}
