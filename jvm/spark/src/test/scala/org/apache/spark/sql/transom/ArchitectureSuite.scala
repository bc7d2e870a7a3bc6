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
    "tree" -> Set(),
    "message" -> Set("error"),
    "schema" -> Set("error"),
    "function" -> Set("schema", "tree"),
    "operator" -> Set("error", "function", "schema", "tree"),
    "aggregate" -> Set("operator", "function", "tree"),
    "batch" -> Set("error", "operator", "tree"),
    "exchange" -> Set("error", "operator", "aggregate", "batch"),
    "state" -> Set(),
    "checkpoint" -> Set("error", "message", "schema", "operator", "batch", "tree"),
    "clock" -> Set("error", "operator", "batch", "checkpoint", "tree"),
    "task" -> Set("schema", "operator", "aggregate", "exchange", "state", "batch"),
    "exec" -> Set(
      "error",
      "schema",
      "operator",
      "exchange",
      "batch",
      "checkpoint",
      "clock",
      "task",
      "tree"),
    "plan" -> Set(
      "tree",
      "error",
      "message",
      "function",
      "operator",
      "exchange",
      "clock",
      "task",
      "exec"),
    "explain" -> Set("error", "operator", "exec", "tree"),
    "connect" -> Set("error", "message", "plan", "explain"),
    "transom.spark" -> Set("batch", "message", "plan", "explain", "connect"))
}
