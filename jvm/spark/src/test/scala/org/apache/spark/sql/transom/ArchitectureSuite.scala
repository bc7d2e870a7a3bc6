package org.apache.spark.sql.transom

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.PackageSuite

/** Checks which packages of the Spark side use each other. */
class ArchitectureSuite
    extends PackageSuite(
      "org.apache.spark.sql.transom",
      classOf[WindowOperatorPlan],
      "jvm/spark/src/main/scala",
      ArchitectureSuite.Table) {

  test("no two packages of the engine and of the Spark side have the same last name") {
    val names = Seq("jvm/engine/src/main/scala", "jvm/spark/src/main/scala").flatMap { sources =>
      val found = Files.walk(Path.of(sources))
      try
        found.iterator.asScala
          .filter(_.endsWith("package.scala"))
          .map(_.getParent.getFileName.toString)
          .toVector
      finally found.close()
    }
    assert(names.contains("runtime") && names.contains("planned"), names)
    assertEquals(names.diff(names.distinct), Nil)
  }
}

private object ArchitectureSuite {
  val Table: Seq[(String, Set[String])] = Seq(
    "error" -> Set(),
    "message" -> Set("error"),
    "schema" -> Set("error"),
    "function" -> Set("schema"),
    "planned" -> Set("error", "function", "schema"),
    "aggregate" -> Set("planned", "function"),
    "batch" -> Set("error", "planned"),
    "exchange" -> Set("error", "planned", "aggregate", "batch"),
    "checkpoint" -> Set("error", "message", "schema", "planned", "batch"),
    "clock" -> Set("error", "planned", "batch", "checkpoint"),
    "task" -> Set("schema", "planned", "aggregate", "exchange", "batch"),
    "realtime" -> Set("planned", "aggregate", "exchange", "task"),
    "exec" -> Set(
      "error",
      "schema",
      "planned",
      "exchange",
      "batch",
      "checkpoint",
      "clock",
      "task",
      "realtime"),
    "plan" -> Set("error", "message", "function", "planned", "exchange", "clock", "task", "exec"),
    "explain" -> Set("error", "planned", "exec"),
    "connect" -> Set("error", "message", "plan", "explain"),
    "sql" -> Set("error", "message", "function", "planned", "task", "plan"),
    "transom.spark" -> Set("batch", "message", "plan", "explain", "connect", "sql"))
}
