package org.apache.spark.sql.transom.batch

import java.util.UUID

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamExecution}
import org.apache.spark.sql.transom.planned.MapSideNode

import transom.engine.time.Watermark

/** Finds the late watermark of a batch on the driver.
  *
  * Spark keeps two watermarks. In batch N, rows are late by the watermark of batch N-1, and
  * windows fire by the watermark of batch N. A stateful processor sees only the second one. With
  * that watermark it would drop rows that an operator before it has just emitted. The first
  * watermark is therefore read from the plan of the running batch: Spark sets it on the operator
  * above the map side.
  */
object LateWatermark {

  /** The late watermark in microseconds since 1970. It is `Watermark.NotYet` before the first
    * watermark and without a stream.
    */
  def of(session: SparkSession, operatorId: String): Long =
    runningBatch(session)
      .flatMap { batch =>
        val above = batch.executedPlan.collect {
          case operator: WatermarkSupport if operator.exists(isMapSideOf(_, operatorId)) =>
            operator
        }
        // Chained operators lie below each other, so the last operator in preorder is the nearest
        // to the map side.
        above.lastOption.flatMap(_.eventTimeWatermarkForLateEvents)
      }
      .fold(Watermark.NotYet)(SparkWatermark.toMicros)

  /** The running batch of the query that runs on the current thread. */
  def runningBatch(session: SparkSession): Option[IncrementalExecution] =
    runningQuery(session).flatMap(query => Option(query.lastExecution))

  /** The streaming query that runs on the current thread. */
  def runningQuery(session: SparkSession): Option[StreamExecution] =
    for {
      id <- queryId(session)
      query <- Option(session.sharedState.activeStreamingQueries.get(UUID.fromString(id)))
    } yield query

  /** The id of the streaming query that runs on the current thread. */
  def queryId(session: SparkSession): Option[String] =
    Option(session.sparkContext.getLocalProperty(StreamExecution.QUERY_ID_KEY))

  private def isMapSideOf(plan: SparkPlan, operatorId: String): Boolean = plan match {
    case mapSide: MapSideNode => mapSide.operatorId == operatorId
    case _ => false
  }
}
