package org.apache.spark.sql.transom

import org.apache.spark.sql.transom.planned.WindowOperatorPlan

import transom.engine.PackageSuite

/** Checks which packages of the Spark side use each other. */
class ArchitectureSuite
    extends PackageSuite(
      "org.apache.spark.sql.transom",
      classOf[WindowOperatorPlan],
      "jvm/spark/src/main/scala",
      ArchitectureSuite.Table)

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
    "exec" -> Set(
      "error",
      "schema",
      "planned",
      "exchange",
      "batch",
      "checkpoint",
      "clock",
      "task"),
    "plan" -> Set("error", "message", "function", "planned", "exchange", "clock", "task", "exec"),
    "explain" -> Set("error", "planned", "exec"),
    "connect" -> Set("error", "message", "plan", "explain"),
    "transom.spark" -> Set("batch", "message", "plan", "explain", "connect"))
}
