package org.apache.spark.sql.transom.canary

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext

/** What happened in the queries of a canary, in order, by batch id.
  *
  * Queries run in the JVM of the tests, so driver code and tasks write to the same journal.
  */
object Journal {
  private val BatchId = "streaming.sql.batchId"
  private val entries = new ConcurrentLinkedQueue[(Long, String)]

  def clear(): Unit = entries.clear()

  /** Adds an event of the batch of the current task. */
  def add(event: String): Unit = add(TaskContext.get().getLocalProperty(BatchId).toLong, event)

  def add(batch: Long, event: String): Unit = entries.add(batch -> event)

  def of(batch: Long): Seq[String] = all.collect { case (`batch`, event) => event }

  def all: Seq[(Long, String)] = entries.asScala.toSeq
}
