package org.apache.spark.sql.transom.error

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import munit.FunSuite

class TransomExceptionSuite extends FunSuite {

  private val texts =
    new ObjectMapper().readTree(getClass.getResourceAsStream("/transom/error-conditions.json"))

  test("an error has its condition, its parameters and its SQL state") {
    val parameters = Map("field" -> "window.size_us", "problem" -> "it is missing")
    val error = new TransomException("TRANSOM_BAD_SPEC", parameters)
    assertEquals(error.getCondition, "TRANSOM_BAD_SPEC")
    assertEquals(error.getMessageParameters, parameters.asJava)
    assertEquals(error.getSqlState, "22023")
    assert(error.getMessage.contains("invalid at window.size_us: it is missing"))
  }

  test("every condition has the prefix TRANSOM_, a text and an SQL state") {
    texts.fieldNames.asScala.foreach { name =>
      assert(name.startsWith("TRANSOM_"), name)
      assert(texts.get(name).get("message").elements.asScala.nonEmpty, name)
      assertEquals(texts.get(name).get("sqlState").asText.length, 5, name)
    }
  }
}
