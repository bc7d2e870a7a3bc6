package org.apache.spark.sql.transom.batch

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

import transom.engine.time.Watermark

/** The watermark of a window operator in a task, for the window operator over its results. The
  * map side of the second operator runs in the tasks of the first one, so the watermark crosses
  * no exchange. Watermarks are in microseconds since 1970.
  *
  * The fields are volatile, because a Python function between the operators may read its rows on
  * a thread of its own.
  */
final class TaskWatermark {

  /** The watermark before the batch, by which results are late. It may be `NotYet` while no
    * result is late.
    */
  @volatile var before: Long = Watermark.NotYet

  /** The watermark after the batch; `NotYet` if the batch does not move it. */
  @volatile var reached: Long = Watermark.NotYet

  /** The watermark after the batch that the idle timeout has not moved. */
  @volatile var watermarkByRows: Long = Watermark.NotYet
}

/** Finds the watermarks of the running task. */
object TaskWatermark {
  private val byTask = new ConcurrentHashMap[(Long, String), TaskWatermark]

  /** A watermark of an operator in the running task.
    *
    * @param name
    *   the name of the operator, for the windows of its results, or `OperatorSpec.lifetimes`
    */
  def of(name: String): TaskWatermark = {
    val task = TaskContext.get()
    val key = (task.taskAttemptId(), name)
    val created = new TaskWatermark
    val found = byTask.putIfAbsent(key, created)
    if (found != null) found
    else {
      task.addTaskCompletionListener[Unit](_ => byTask.remove(key): Unit)
      created
    }
  }
}
