package org.apache.spark.sql.transom.plan

import java.util.UUID

import org.apache.spark.sql.{Column, DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

import transom.engine.spec.StampSpec

/** Builds the plan of a time stage without windows: all rows, each with its stamp. */
object StampedPlanner {
  private val TimeName = "__transom_time"
  private val OrderPrefix = "__transom_order_"

  def plan(input: Dataset[Row], spec: StampSpec, columns: Seq[Column]): DataFrame = {
    val session = input.sparkSession
    WindowPlanner.prepare(session)
    val policy = spec.policy
    val time = policy.timeColumn.fold(PolicySources.arrival(policy, columns))(columns)
    val hidden = (policy.timeColumn -> time.as(TimeName)) +:
      (spec.orderColumns.zipWithIndex.map { case (index, i) =>
        Some(index) -> columns(index).as(OrderPrefix + i)
      } ++ PolicySources.columns(policy, columns))
    val rows = input.select(col("*") +: hidden.map(_._2): _*).queryExecution.analyzed
    val (visible, ofRows) = rows.output.splitAt(input.columns.length)
    val overInput = new OverInput(input).outputOf(rows).drop(visible.length)
    val byIndex = hidden.map(_._1).zip(overInput).collect { case (Some(index), column) =>
      index -> column
    }
    val operatorSpec =
      OperatorSpecBuilder.of(input.queryExecution.analyzed, spec, byIndex.toMap)
    val micros =
      Alias(PreciseTimestampConversion(ofRows.head, ofRows.head.dataType, LongType), TimeName)()
    val stage = TimeStagePlanner.plan(
      policy,
      spec.keyGroups,
      operatorSpec,
      UUID.randomUUID().toString,
      Project(rows.output :+ micros, rows),
      micros.toAttribute,
      PolicySources.found(ofRows, ofRows.filter(_.name.startsWith(OrderPrefix))),
      carried = visible,
      sendsWatermarks = false)
    val stamp = StampOf(
      stage.byColumn(micros.toAttribute),
      stage.stamp.watermark,
      stage.stamp.verdict,
      ofRows.head.dataType)
    val kept = visible.map { column =>
      // An id of its own lets Spark join the result with itself.
      Alias(stage.byColumn(column), column.name)(explicitMetadata = Some(column.metadata))
    }
    Dataset.ofRows(
      session,
      Project(
        kept :+ Alias(stamp, "stamp")(),
        stage.rows(session, input.isStreaming, observedAs = Some(operatorSpec.name))))
  }
}
