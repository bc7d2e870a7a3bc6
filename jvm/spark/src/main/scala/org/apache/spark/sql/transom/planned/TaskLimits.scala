package org.apache.spark.sql.transom.planned

import scala.util.Try

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.transom.error.TransomException

import transom.engine.state.Limits

/** The memory limits of the tasks in this JVM.
  *
  * A limit follows from the heap and the number of tasks that run at once, unless the session
  * sets `spark.transom.limits.NAME`, such as `spark.transom.limits.combined=32m`.
  */
object TaskLimits {
  private final val Prefix = "spark.transom.limits."

  /** Throws `TRANSOM_BAD_LIMIT` if the session sets a limit to an invalid size. */
  def check(): Unit = current: Unit

  /** The limits of a task. Call only in the task, because they depend on the heap of the
    * executor.
    */
  def current: Limits = {
    val derived = Limits.of(Runtime.getRuntime.maxMemory, tasksAtOnce)
    Limits(
      combined = set("combined", derived.combined),
      payload = set("payload", derived.payload.toLong).toInt,
      keys = set("keys", derived.keys),
      segments = set("segments", derived.segments),
      shared = set("shared", derived.shared),
      sessions = set("sessions", derived.sessions),
      bundle = set("bundle", derived.bundle.toLong).toInt,
      state = set("state", derived.state))
  }

  private def tasksAtOnce: Int = {
    val conf = SparkEnv.get.conf
    val master = conf.get("spark.master", "")
    def ofMachine =
      if (master.startsWith("local")) SparkContext.numDriverCores(master, conf)
      else Runtime.getRuntime.availableProcessors
    val cores = conf.getOption("spark.executor.cores").fold(ofMachine)(_.toInt)
    cores / conf.getInt("spark.task.cpus", 1)
  }

  private def set(name: String, derived: Long): Long = {
    val key = Prefix + name
    Option(SQLConf.get.getConfString(key, null)).fold(derived) { text =>
      Try(JavaUtils.byteStringAsBytes(text)).toOption
        .filter(bytes => bytes > 0 && bytes <= Int.MaxValue)
        .getOrElse(
          throw new TransomException(
            "TRANSOM_BAD_LIMIT",
            Map("setting" -> key, "value" -> text, "most" -> s"${Int.MaxValue}")))
    }
  }
}
