package org.apache.spark.sql.transom.batch

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext

import transom.engine.time.Advance

/** The watermark of a time stage or of a window operator in a task, for the window operator over
  * its rows. The map side of the second operator runs in the tasks of the first one, so the
  * watermark crosses no exchange. Watermarks are in microseconds since 1970.
  *
  * The field is volatile, because a Python function between the operators may read its rows on a
  * thread of its own. Only the task of the first operator writes it.
  */
final class TaskWatermark {

  /** How the watermark advances in the batch. `before` may be `NotYet` while no result is late,
    * and `after` is `NotYet` if the batch does not move the watermark.
    */
  @volatile var advance: Advance = Advance.Unknown
}

/** Finds the watermarks of the running task. */
object TaskWatermark {
  private val byTask = new ConcurrentHashMap[(Long, String), TaskWatermark]

  /** A watermark of an operator in the running task.
    *
    * @param name
    *   the name of the operator, for the windows of its results, `OperatorSpec.lifetimes`, or
    *   `OperatorSpec.timeStage`
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
