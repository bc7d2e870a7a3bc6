package org.apache.spark.sql.transom.plan

import java.util.UUID

import org.apache.spark.sql.{Column, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

import transom.engine.spec.StampSpec

/** Builds the plan of a time stage without windows: all rows, each with its stamp. */
object StampedPlanner {
  def plan(input: Dataset[Row], spec: StampSpec, columns: Seq[Column]): Dataset[Row] = {
    val session = input.sparkSession
    WindowPlanner.prepare(session)
    val policy = spec.policy
    val added = RowColumns.time(Some(policy), columns) +:
      (spec.lifetime.map(RowColumns.end(_, columns)).toSeq ++
        RowColumns.order(spec.orderColumns, columns) ++ RowColumns.policy(policy, columns))
    val selected = input.select(col("*") +: added.map(_._2): _*).queryExecution.analyzed
    val rows = RowColumns.guarded(selected, spec.lifetime, Some(policy))
    val (visible, ofRows) = rows.output.splitAt(input.columns.length)
    val byIndex =
      RowColumns.byIndex(added, new OverInput(input).outputOf(selected).drop(visible.length))
    val operatorSpec =
      OperatorSpecBuilder.of(input.queryExecution.analyzed, spec, byIndex)
    val micros =
      Alias(PreciseTimestampConversion(ofRows.head, ofRows.head.dataType, LongType), "time")()
    val end = RowColumns.placingIn(ofRows)
    val stage = TimeStagePlanner.plan(
      policy,
      spec.keyGroups,
      operatorSpec,
      UUID.randomUUID().toString,
      Project(rows.output :+ micros, rows),
      micros.toAttribute,
      RowColumns.policyIn(ofRows, policy, selected),
      carried = visible ++ end,
      mayHoldRows = false,
      keyFailed = None,
      end = end,
      windows = None)
    val time = stage.byColumn(micros.toAttribute)
    val stamp = StampOf(
      Seq(time, stage.judgement.watermark, stage.judgement.code) ++ end.map(stage.byColumn),
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
