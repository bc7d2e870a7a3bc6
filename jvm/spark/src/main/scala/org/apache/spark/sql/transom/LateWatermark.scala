package org.apache.spark.sql.transom

import java.util.UUID

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution}

import transom.engine.Watermark

/** The watermark by which the rows of a batch are late, read on the driver.
  *
  * Spark keeps two: batch N judges rows by the watermark of batch N-1 and fires by its own. A
  * stateful processor is shown only the second; judging by it would lose the rows that an earlier
  * operator has just fired. So the first is taken from the running batch's plan, where Spark has
  * put it into the operator above our map side.
  */
object LateWatermark {

  /** In microseconds; `Watermark.NotYet` if there is none yet, or no stream. */
  def of(session: SparkSession, operatorId: String): Long =
    runningBatch(session)
      .flatMap { batch =>
        val above = batch.executedPlan.collect {
          case node: WatermarkSupport if node.exists(isMapSideOf(_, operatorId)) => node
        }
        // The last in preorder is the nearest: chained operators lie below each other.
        above.lastOption.flatMap(_.eventTimeWatermarkForLateEvents)
      }
      .fold(Watermark.NotYet)(SparkWatermark.toMicros)

  def runningBatch(session: SparkSession): Option[IncrementalExecution] =
    runningQuery(session).flatMap(query => Option(query.lastExecution))

  /** The query that the current thread works for. */
  def runningQuery(session: SparkSession): Option[StreamExecution] =
    for {
      id <- Option(session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY))
      query <- Option(session.sharedState.activeStreamingQueries.get(UUID.fromString(id)))
    } yield query

  private def isMapSideOf(plan: SparkPlan, operatorId: String): Boolean = plan match {
    case mapSide: WindowMapSideExec => mapSide.operatorId == operatorId
    case _ => false
  }
}
