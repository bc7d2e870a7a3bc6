package transom.crashing

import java.io.File
import java.util.{Collections, Map => JMap}

import scala.collection.mutable

import org.apache.spark.{SparkContext, Success, TaskContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerTaskEnd}

/** Disturbs tasks of a streaming query at chosen places, for tests on a cluster.
  *
  * Each executor asks the driver at the start and at the end of each task what to do. The driver
  * answers by the points that a test has armed. A point names an action and a place:
  *
  *   - `halt`: the executor's JVM halts, as if it were killed.
  *   - `lose`: the executor deletes its shuffle files, so that a later stage fails to fetch them.
  *   - `stall`: the task waits until another attempt of it has succeeded.
  *
  * The place is a batch, a job of the batch, a stage of the job (each counted from 0), and the
  * start or the end of a task. The first task that comes to this place is disturbed, once.
  *
  * The points are global to the JVM of the driver, so only one query may run at a time.
  */
object Disturbances {
  private final case class Place(batch: Int, job: Int, stage: Int)
  private final case class Point(action: String, place: Place, moment: String)

  private val points = mutable.LinkedHashSet.empty[Point]
  private val fired = mutable.ArrayBuffer.empty[Point]
  private val places = mutable.LinkedHashMap.empty[Place, Int]
  private val jobs = mutable.Map.empty[Int, Int].withDefaultValue(0)

  /** The place of each known stage. A stage outside of a streaming query has none. */
  private val stages = mutable.Map.empty[Int, Option[Place]]
  private val succeeded = mutable.Set.empty[(Int, Int)]

  /** Forgets what has happened, and arms points for the next query.
    *
    * @param lines
    *   one point per line: action, batch, job, stage, and "start" or "end"
    */
  def arm(lines: String): Unit = synchronized {
    Seq(points, fired, places, jobs, succeeded).foreach(_.clear())
    lines.linesIterator.map(_.split(' ')).foreach { words =>
      val place = Place(words(1).toInt, words(2).toInt, words(3).toInt)
      points += Point(words(0), place, words(4))
    }
  }

  /** Forgets the stages of an earlier session, because a new one counts stages from 0 again. */
  private[crashing] def forgetStages(): Unit = synchronized(stages.clear())

  /** The number of points that have fired since `arm`. */
  def firedPoints: Int = synchronized(fired.size)

  /** The places at which tasks have run since `arm`, one per line: batch, job, stage, tasks. */
  def seenPlaces: String = synchronized {
    places.map { case (at, tasks) => s"${at.batch} ${at.job} ${at.stage} $tasks" }.mkString("\n")
  }

  private[crashing] def started(job: SparkListenerJobStart): Unit = synchronized {
    val batch = Option(job.properties).flatMap(all => Option(all.getProperty(BatchId)))
    val ordinal = batch.map { id =>
      val number = jobs(id.toInt)
      jobs(id.toInt) = number + 1
      number
    }
    job.stageIds.sorted.zipWithIndex.foreach { case (id, stage) =>
      if (!stages.contains(id))
        stages(id) =
          batch.zip(ordinal).map { case (of, number) => Place(of.toInt, number, stage) }
    }
  }

  private[crashing] def ended(task: SparkListenerTaskEnd): Unit = synchronized {
    if (task.reason == Success) succeeded += ((task.stageId, task.taskInfo.partitionId))
  }

  /** Answers a task: an action, "none", or "ask again" if the driver does not know the stage yet.
    */
  private[crashing] def answer(moment: String, stage: Int, attempt: Int): String = synchronized {
    stages.get(stage) match {
      case None => AskAgain
      case Some(None) => NoAction
      case Some(Some(place)) =>
        if (moment == Start) places(place) = places.getOrElse(place, 0) + 1
        val point =
          if (attempt > 0) None else points.find(p => p.place == place && p.moment == moment)
        point.foreach { found =>
          points -= found
          fired += found
        }
        point.fold(NoAction)(_.action)
    }
  }

  private[crashing] def hasSucceeded(stage: Int, partition: Int): Boolean =
    synchronized(succeeded((stage, partition)))

  private[crashing] val BatchId = "streaming.sql.batchId"
  private[crashing] val Start = "start"
  private[crashing] val End = "end"
  private[crashing] val NoAction = "none"
  private[crashing] val AskAgain = "ask again"
}

/** The plugin of Spark that carries out [[Disturbances]]. `spark.plugins` names it. */
class DisturbingPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DisturbingDriver
  override def executorPlugin(): ExecutorPlugin = new DisturbingExecutor
}

private final class DisturbingDriver extends DriverPlugin {
  override def init(context: SparkContext, plugin: PluginContext): JMap[String, String] = {
    Disturbances.forgetStages()
    context.addSparkListener(new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = Disturbances.started(job)
      override def onTaskEnd(task: SparkListenerTaskEnd): Unit = Disturbances.ended(task)
    })
    Collections.emptyMap()
  }

  override def receive(message: AnyRef): AnyRef = message match {
    case Question(moment, stage, attempt) => Disturbances.answer(moment, stage, attempt)
    case Succeeded(stage, partition) => Boolean.box(Disturbances.hasSucceeded(stage, partition))
    case other => throw new IllegalArgumentException(s"not a question: $other")
  }
}

/** Asks what to do at a moment of a task. `attempt` counts attempts of its stage and of itself.
  */
private final case class Question(moment: String, stage: Int, attempt: Int)

/** Asks whether an attempt of a task has succeeded. */
private final case class Succeeded(stage: Int, partition: Int)

private final class DisturbingExecutor extends ExecutorPlugin {
  private var driver: PluginContext = _

  override def init(context: PluginContext, settings: JMap[String, String]): Unit =
    driver = context

  // A task has no context any more when it has succeeded.
  private val running = new ThreadLocal[(Int, Int, Int)]

  override def onTaskStart(): Unit = {
    val task = TaskContext.get()
    val attempt = task.stageAttemptNumber() + task.attemptNumber()
    running.set((task.stageId(), task.partitionId(), attempt))
    disturb(Disturbances.Start)
  }

  override def onTaskSucceeded(): Unit = disturb(Disturbances.End)

  private def disturb(moment: String): Unit = {
    val (stage, partition, attempt) = running.get()
    val question = Question(moment, stage, attempt)
    var action = driver.ask(question)
    while (action == Disturbances.AskAgain) {
      Thread.sleep(PauseMillis)
      action = driver.ask(question)
    }
    if (action == "halt") Runtime.getRuntime.halt(137)
    else if (action == "lose") loseShuffleFiles()
    else if (action == "stall")
      while (driver.ask(Succeeded(stage, partition)) == java.lang.Boolean.FALSE)
        Thread.sleep(PauseMillis)
  }

  /** Deletes the shuffle files of this executor. Its worker has told it their folders. */
  private def loseShuffleFiles(): Unit = {
    def files(at: File): Seq[File] =
      Option(at.listFiles).toSeq.flatten.flatMap(file =>
        if (file.isDirectory) files(file) else Seq(file))
    val folders = System.getenv("SPARK_EXECUTOR_DIRS").split(File.pathSeparatorChar)
    val shuffled = folders.toSeq.flatMap(folder => files(new File(folder)))
    shuffled.filter(_.getName.startsWith("shuffle_")).foreach(_.delete())
  }

  private val PauseMillis = 10
}
