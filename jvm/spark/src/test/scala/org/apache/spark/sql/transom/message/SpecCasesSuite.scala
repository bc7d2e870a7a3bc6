package org.apache.spark.sql.transom.message

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import munit.FunSuite
import org.apache.spark.SparkThrowable

/** Runs the cases of `spec/cases`. Python's tests run the same cases, so both languages read
  * messages alike.
  */
class SpecCasesSuite extends FunSuite {

  private val mapper = new ObjectMapper
  private val directory = Paths.get("spec", "cases")

  private val files: Seq[Path] = Using.resource(Files.list(directory)) { paths =>
    paths.iterator.asScala.filter(_.toString.endsWith(".json")).toVector.sorted
  }

  test("there are cases") {
    assert(files.nonEmpty)
  }

  files.foreach { file =>
    val spec = mapper.readTree(Files.readString(file))
    test(s"${file.getFileName}: ${spec.path("title").asText}") {
      if (spec.has("error")) checkRejected(spec.get("message"), spec.get("error"))
      else {
        val decoded = SpecCodec.decode(spec.get("message").toString)
        assertEquals(mapper.readTree(SpecCodec.encode(decoded)), spec.get("message"))
      }
    }
  }

  private def checkRejected(message: JsonNode, expected: JsonNode): Unit =
    intercept[IllegalArgumentException](SpecCodec.decode(message.toString)) match {
      case error: SparkThrowable =>
        assertEquals(error.getCondition, expected.get("condition").asText)
        assertEquals(error.getMessageParameters.get("field"), expected.get("field").asText)
      case other => fail(s"not an error condition of transom: $other")
    }
}
