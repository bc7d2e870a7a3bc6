package transom.crashing

import java.io.IOException
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/** Plans a crash for tests: before or after the n-th durable write of a run.
  *
  * The plan is global to the JVM, so only one query may run at a time.
  */
object CrashPlan {
  private val count = new AtomicInteger(0)
  private val written = new ConcurrentLinkedQueue[String]
  @volatile private var number = 0
  @volatile private var isAfter = false
  @volatile private var halts = false
  @volatile private var crashed = false

  /** Resets the count of writes and plans a crash.
    *
    * @param number
    *   number of the write at which the run crashes, from 1; 0 for no crash
    * @param isAfter
    *   whether the crash comes after the write instead of before it
    * @param halts
    *   whether the JVM halts; if false, the write throws an exception, once
    */
  def arm(number: Int, isAfter: Boolean, halts: Boolean): Unit = {
    count.set(0)
    written.clear()
    this.number = number
    this.isAfter = isAfter
    this.halts = halts
    crashed = false
  }

  /** The writes since `arm`, one per line: the last three parts of the file's path. */
  def names: String = String.join("\n", written)

  /** Whether a crash by exception has happened since `arm`. */
  def hasCrashed: Boolean = crashed

  /** Counts a step of a sink like a durable write, for sinks that do not write through
    * [[CrashingFileManager]].
    *
    * @param step
    *   name of the step
    */
  def passed(step: String): Unit = write(step)(())

  /** Counts a durable write, runs it, and crashes before or after it if the plan says so. */
  private[crashing] def write(path: String)(publish: => Unit): Unit = {
    val mine = count.incrementAndGet()
    written.add(path.split('/').takeRight(3).mkString("/"))
    if (mine == number && !isAfter) crash(path)
    publish
    if (mine == number && isAfter) crash(path)
  }

  private def crash(path: String): Unit =
    if (halts) Runtime.getRuntime.halt(137)
    else {
      crashed = true
      throw new IOException(s"planned crash at $path")
    }
}
