package org.apache.spark.sql.transom

import org.apache.spark.sql.transom.operator.WindowOperatorPlan

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
    "operator" -> Set("error", "function", "schema"),
    "aggregate" -> Set("operator", "function"),
    "batch" -> Set("error", "operator"),
    "exchange" -> Set("error", "operator", "aggregate", "batch"),
    "state" -> Set(),
    "checkpoint" -> Set("error", "message", "schema", "operator", "batch"),
    "clock" -> Set("error", "operator", "batch", "checkpoint"),
    "task" -> Set("schema", "operator", "aggregate", "exchange", "state", "batch"),
    "exec" -> Set(
      "error",
      "schema",
      "operator",
      "exchange",
      "batch",
      "checkpoint",
      "clock",
      "task"),
    "plan" -> Set(
      "error",
      "message",
      "function",
      "operator",
      "exchange",
      "clock",
      "task",
      "exec"),
    "explain" -> Set("error", "operator", "exec"),
    "connect" -> Set("error", "message", "plan", "explain"),
    "transom.spark" -> Set("batch", "message", "plan", "explain", "connect"))
}
