package org.apache.spark.sql.transom.message

import java.lang.reflect.Modifier
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import munit.FunSuite
import org.apache.spark.SparkThrowable

import transom.engine.firing.{Evictor, Trigger}
import transom.engine.window.Window

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

  test("each kind of window, trigger and evictor has a case") {
    val specs = files
      .map(file => mapper.readTree(Files.readString(file)))
      .filterNot(_.has("error"))
      .map(spec => SpecCodec.decode(spec.get("message").toString))
    val parts = specs.flatMap { spec =>
      (spec.window +: spec.window.members) ++ spec.trigger.parts ++ spec.evictor
    }
    val kinds = Seq(classOf[Window], classOf[Trigger], classOf[Evictor]).flatMap(kindsOf)
    assertEquals(parts.map(_.getClass.getName).toSet, kinds.map(_.getName).toSet)
  }

  /** The classes of the kinds, which are in the package of their trait. */
  private def kindsOf(base: Class[_]): Seq[Class[_]] = {
    val classes = Paths.get(base.getProtectionDomain.getCodeSource.getLocation.toURI)
    val folder = classes.resolve(base.getPackageName.replace('.', '/'))
    Using.resource(Files.list(folder)) { files =>
      files.iterator.asScala
        .map(_.getFileName.toString)
        .filter(_.endsWith(".class"))
        .map(name => Class.forName(s"${base.getPackageName}.${name.stripSuffix(".class")}"))
        .filter(kind => base.isAssignableFrom(kind) && !Modifier.isAbstract(kind.getModifiers))
        .toVector
    }
  }

  files.foreach { file =>
    val spec = mapper.readTree(Files.readString(file))
    test(s"${file.getFileName}: ${spec.path("title").asText}") {
      if (spec.has("error")) checkRejected(spec.get("message"), spec.get("error"))
      else {
        val decoded = SpecCodec.decode(spec.get("message").toString)
        val expected = spec.get("message").deepCopy[ObjectNode]
        spec
          .path("default")
          .properties
          .asScala
          .foreach(d => expected.set[JsonNode](d.getKey, d.getValue))
        assertEquals(mapper.readTree(SpecCodec.encode(decoded)), expected: JsonNode)
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
