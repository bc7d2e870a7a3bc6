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
    "function" -> Set(),
    "operator" -> Set("error", "function"),
    "aggregate" -> Set("operator"),
    "exchange" -> Set("operator", "aggregate"),
    "state" -> Set(),
    "batch" -> Set("operator"),
    "checkpoint" -> Set("error", "message", "operator", "batch"),
    "clock" -> Set("error", "operator", "batch", "checkpoint"),
    "task" -> Set("operator", "aggregate", "exchange", "state", "batch"),
    "exec" -> Set("error", "operator", "exchange", "batch", "checkpoint", "clock", "task"),
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
    "transom.spark" -> Set("message", "plan", "explain"))
}
