package org.apache.spark.sql.transom.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.storage.StorageLevel

/** Keeps the rows that stay with their tasks until a batch ends, however it ends.
  *
  * A task frees the rows that it has read to their end. Other blocks would stay until the garbage
  * collector of the driver runs: those that a task has read from another executor, and those of a
  * batch that fails.
  */
private object HeldBlocks {

  /** Persists rows for the running batch. Call on the thread of the batch. */
  def persist[T](rows: RDD[T]): RDD[T] = {
    val context = rows.sparkContext
    val running = Option(context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running.foreach(id => context.addSparkListener(new UnpersistAtEnd(id.toLong, rows)))
    rows.persist(StorageLevel.MEMORY_AND_DISK)
  }
}

/** Unpersists rows when an execution ends. The batch of a stream is one execution. */
private final class UnpersistAtEnd(execution: Long, rows: RDD[_]) extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd if end.executionId == execution =>
      rows.unpersist(blocking = false)
      rows.sparkContext.removeSparkListener(this)
    case _ =>
  }
}
