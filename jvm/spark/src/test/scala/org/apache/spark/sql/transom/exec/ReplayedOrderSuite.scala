package org.apache.spark.sql.transom.exec

import scala.concurrent.duration.{Duration, MINUTES}

import munit.FunSuite
import org.apache.spark.rdd.DeterministicLevel
import org.apache.spark.sql.{functions => F, Dataset, Encoders, Row}
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.TestSession

class ReplayedOrderSuite extends FunSuite {
  // A busy machine takes more than the 30 seconds that are usual for a test.
  override def munitTimeout: Duration = Duration(2, MINUTES)

  private lazy val spark = TestSession.spark
  private lazy val rows: Dataset[Row] = spark
    .range(20)
    .selectExpr("id", "id % 3 AS key", "timestamp_seconds(id) AS time", "array(id) AS list")
  private lazy val table: Dataset[Row] = spark.range(3).selectExpr("id AS key", "id AS name")

  private def joined(kind: String, hint: String = "broadcast"): Dataset[Row] =
    rows.join(table.hint(hint).as("t"), Seq("key"), kind)

  private lazy val inOrder: Seq[(String, Dataset[Row])] = Seq(
    "a source" -> rows,
    "select and where" -> rows.select("id", "key").where("id > 3").as("r"),
    "a temporary view" -> {
      rows.createOrReplaceTempView("replayed")
      spark.table("replayed")
    },
    "explode" -> rows.select(F.col("id"), F.explode(F.col("list"))),
    "withWatermark" -> rows.withWatermark("time", "1 second"),
    "union" -> rows.union(rows.where("key = 1")),
    "coalesce" -> rows.coalesce(1),
    "observe" -> rows.observe("seen", F.count("*").as("n")),
    "mapPartitions" -> rows.mapPartitions((read: Iterator[Row]) => read)(
      Encoders.row(rows.schema)),
    "a typed filter" -> rows.filter((row: Row) => row.getLong(0) > 3),
    "a typed map" -> rows.map((row: Row) => row)(Encoders.row(rows.schema)),
    "a broadcast table" -> joined("inner"),
    "a broadcast table, left" -> joined("left"),
    "a broadcast table, left semi" -> joined("left_semi"),
    "a broadcast table, left anti" -> joined("left_anti"),
    "a broadcast table without an equal column" ->
      rows.as("r").join(F.broadcast(table), F.col("id") > F.col("name"), "left"),
    "two broadcast tables" -> joined("inner")
      .join(F.broadcast(table.withColumnRenamed("name", "other")), "key"))

  private lazy val inAnyOrder: Seq[(String, Dataset[Row])] = Seq(
    "repartition" -> rows.repartition(2),
    "repartition by a column" -> rows.repartition(F.col("key")),
    "an aggregation" -> rows.groupBy("key").count(),
    "distinct" -> rows.distinct(),
    "dropDuplicates" -> rows.dropDuplicates("key"),
    "a join" -> rows.join(table, "key"),
    "a merge join" -> joined("inner", "merge"),
    "a broadcast table, full outer" -> joined("full"),
    "a broadcast table, right outer" -> joined("right"),
    "a merge join whose table has a broadcast hint too" -> rows
      .join(table.hint("broadcast").hint("merge"), "key"),
    "broadcast rows" -> rows.hint("broadcast").join(F.broadcast(table), "key"),
    "a subquery" -> {
      table.createOrReplaceTempView("replayed_table")
      rows.where("key IN (SELECT key FROM replayed_table)")
    },
    "limit" -> rows.limit(3),
    "a step above a shuffle" -> rows.repartition(2).select("id"),
    "one part of a union" -> rows.union(rows.repartition(2)))

  test("rows without a shuffle below come back in their order") {
    val broken = inOrder.collect {
      case (name, df) if ReplayedOrder.brokenBy(plan(df)).isDefined => name
    }
    assertEquals(broken, Nil)
  }

  test("Spark plans no shuffle where none is expected") {
    val before = spark.conf.get(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key)
    spark.conf.set(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key, "false")
    try {
      val shuffled = inOrder.collect {
        case (name, df)
            if classic(df).queryExecution.toRdd.outputDeterministicLevel !=
              DeterministicLevel.DETERMINATE =>
          name
      }
      assertEquals(shuffled, Nil)
    } finally spark.conf.set(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key, before)
  }

  test("rows behind any other step may come back in another order") {
    val kept = inAnyOrder.collect {
      case (name, df) if ReplayedOrder.brokenBy(plan(df)).isEmpty => name
    }
    assertEquals(kept, Nil)
  }

  private def classic(df: Dataset[Row]) = df.asInstanceOf[ClassicDataset[Row]]

  private def plan(df: Dataset[Row]) = classic(df).queryExecution.analyzed
}
