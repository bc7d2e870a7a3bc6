package transom.crashing

import java.io.IOException
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/** The write at which a run crashes: before or after its n-th durable write. One plan serves the
  * whole JVM, so one query may run at a time.
  */
object CrashPlan {
  private val count = new AtomicInteger(0)
  private val written = new ConcurrentLinkedQueue[String]
  @volatile private var number = 0
  @volatile private var isAfter = false
  @volatile private var halts = false
  @volatile private var crashed = false

  /** Starts to count from 0 again.
    *
    * @param number
    *   the number of the write at which the run crashes, from 1; 0 for no crash
    * @param isAfter
    *   whether the crash comes after the write
    * @param halts
    *   whether the JVM halts; if not, the write fails with an exception, once
    */
  def arm(number: Int, isAfter: Boolean, halts: Boolean): Unit = {
    count.set(0)
    written.clear()
    this.number = number
    this.isAfter = isAfter
    this.halts = halts
    crashed = false
  }

  /** The writes since `arm`, one on each line: the last three parts of the file's path. */
  def names: String = String.join("\n", written)

  /** Whether the crash has happened since `arm`. */
  def hasCrashed: Boolean = crashed

  /** Counts a step of a sink, which writes no checkpoint file, like a durable write. */
  def passed(step: String): Unit = write(step)(())

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
