package transom.engine.spec

import transom.engine.firing._
import transom.engine.setting.{Check, Constants, InvalidSpec}
import transom.engine.window._

/** The spec of a window operator, decoded from the message that Python sends.
  *
  * Columns are indexes into the list of column expressions that is sent with the message. The
  * constructor throws [[InvalidSpec]] if settings are invalid or exclude each other.
  *
  * @param name
  *   name of the operator, if the user gave it one
  * @param keyColumns
  *   columns of the key
  * @param time
  *   event time, a time policy or processing time; none if the windows need no time
  * @param lifetime
  *   the lifetimes of rows; none if rows last one microsecond
  * @param orderColumns
  *   columns that define the order in which rows arrived
  * @param window
  *   how rows are assigned to windows
  * @param trigger
  *   when windows fire
  * @param evictor
  *   which rows are removed when a window fires, if any
  * @param function
  *   what is computed from the rows of a window
  * @param allowedLatenessUs
  *   allowed lateness, in microseconds
  * @param idleTimeout
  *   when windows close although no row arrives, if they do
  * @param outputPolicy
  *   the lifetimes of results; none if results have no lifetimes
  * @param firstOutputUs
  *   results of windows that end before this instant are not emitted, microseconds since 1970
  * @param drain
  *   whether open windows fire when a run with the trigger `availableNow` ends
  * @param pane
  *   whether results have a `pane` column
  * @param retract
  *   whether a retraction of the previous result precedes a changed result
  * @param changesOnly
  *   whether a window emits nothing if it holds the same rows as the window before
  * @param lateRows
  *   which late rows go to a side output
  * @param deadLetters
  *   whether rows that cannot be assigned to a window go to a side output
  * @param watermarks
  *   whether the watermarks of results go to a side output
  * @param keyGroups
  *   number of key groups
  * @param layout
  *   the state layout
  * @param tickUs
  *   period of the ticks, the rows that carry processing time, in microseconds
  * @param rowLog
  *   how many rows that a rule drops or moves are logged per minute
  */
final case class WindowSpec(
    name: Option[String],
    keyColumns: Seq[Int],
    time: Option[Time],
    lifetime: Option[Lifetime],
    orderColumns: Seq[Int],
    window: Window,
    trigger: Trigger,
    evictor: Option[Evictor],
    function: Function,
    allowedLatenessUs: Long,
    idleTimeout: Option[IdleTimeout],
    outputPolicy: Option[OutputPolicy],
    firstOutputUs: Option[Long],
    drain: Boolean,
    pane: Boolean,
    retract: Boolean,
    changesOnly: Boolean,
    lateRows: LateRows,
    deadLetters: Boolean,
    watermarks: Boolean,
    keyGroups: Int,
    layout: Layout,
    tickUs: Long,
    rowLog: Int) {

  Check.that(
    "name",
    name.forall(_.matches(Constants.OperatorNamePattern)),
    "cannot be the name of a file",
    "BAD_NAME",
    "value" -> s"'${name.getOrElse("")}'")
  Check.notNegative("allowed_lateness_us", allowedLatenessUs)
  Check.positive("key_groups", keyGroups)
  Check.positive("tick_us", tickUs)
  Check.notNegative("row_log", rowLog)
  checkTrigger()
  checkTogether()
  checkWindows()
  checkPolicy()

  /** Whether the operator acts in processing time and therefore needs ticks. */
  def needsClock: Boolean =
    trigger.parts.exists(_.isOnClock) || time.contains(ProcessingTime) && !window.isEndless

  /** Whether ticks of the wall clock act on the time stage in front of the windows. */
  def stageNeedsClock: Boolean = policy.exists(policy =>
    idleTimeout.isDefined || policy.idlePartitionUs.isDefined || policy.estimateArrival)

  /** Whether the operator of the windows needs ticks. With substreams it applies the policy too.
    */
  def takesTicks: Boolean = needsClock || hasSubstreams && stageNeedsClock

  /** Number of clock sources that the query needs: for the drain, the windows and the stage. */
  def clocks: Int =
    Seq(drain, takesTicks, stageNeedsClock && !hasSubstreams).count(identity)

  /** Whether windows must receive each row when it arrives: it may make a window fire, or its
    * time is that of its arrival.
    */
  def firesOnRows: Boolean = time.contains(ProcessingTime) || hasSubstreams || {
    def reactsToRows(trigger: Trigger) = trigger.parts.exists {
      case _: AfterCount | _: AfterDelta | _: When | EveryBatch => true
      case _ => false
    }
    trigger match {
      case AfterWatermark(early, _) if allowedLatenessUs == 0L => early.exists(reactsToRows)
      case other => allowedLatenessUs > 0L || reactsToRows(other)
    }
  }

  /** Whether windows must fire at each step of the watermark, because a row that comes after the
    * step belongs to the next result.
    */
  def firesBetweenRows: Boolean = allowedLatenessUs > 0L || trigger.parts.exists {
    case every: Every => !every.isOnClock
    case _ => false
  }

  /** Whether rows may wait for each other on their way to the windows, as long as they arrive
    * before the watermark passes the end of a window: neither a row, nor a smaller step of the
    * watermark, nor the wall clock makes windows fire.
    */
  def rowsMayWait: Boolean =
    !(firesOnRows || firesBetweenRows || needsClock || stageNeedsClock)

  /** Whether a sweep over lifetimes finds the windows. */
  def isSwept: Boolean =
    lifetime.isDefined || changesOnly || window.members.exists(_.isInstanceOf[SweptWindow])

  /** Whether rows are the starts and ends of lifetimes. */
  def hasEdges: Boolean = lifetime.exists(_.hasEdges)

  /** The time policy that judges rows, if there is one. */
  def policy: Option[TimePolicy] = time match {
    case Some(policy: TimePolicy) => Some(policy)
    case _ => None
  }

  /** Whether the rules of the time policy see the ends of lifetimes. The time of a row that ends
    * another row is this end, so the rules see no end behind it.
    */
  def rulesSeeEnds: Boolean = lifetime.exists(!_.hasEdges)

  /** Whether a watermark says from when on the lifetimes of results start. */
  def hasWatermarkOfStarts: Boolean = !outputPolicy.contains(OutputPolicy.ClipToWindowEnd) ||
    window.members.forall(_.isInstanceOf[GridWindow])

  /** Whether the operator can tell the rows that have entered and left since the last result. */
  def takesChanges: Boolean = isSwept && !window.isInstanceOf[Windows]

  /** Whether windows follow the watermark of their substream. */
  def hasSubstreams: Boolean = policy.exists(_.overColumns.nonEmpty)

  private def checkTrigger(): Unit = {
    def byWatermark(part: Trigger): Boolean = part match {
      case _: AfterWatermark | AfterLateness | Every(_, TriggerClock.Event, _) => true
      case _ => false
    }
    val inEventTime = time.exists(_.isEventTime)
    trigger.parts.foreach { part =>
      Check.that(
        "trigger",
        inEventTime || !byWatermark(part),
        "needs event time",
        "NO_CLOCK",
        "value" -> part.productPrefix,
        "fix" -> s"Use ${insteadOf(part)}, or set the column that holds the time")
      Check.that(
        "trigger",
        !window.isMerging || part.canMerge || part.nested.exists(!_.canMerge),
        "cannot be used with windows that merge",
        "CANNOT_MERGE",
        "value" -> part.productPrefix,
        "window" -> window.productPrefix)
    }
  }

  private def insteadOf(trigger: Trigger): String = trigger match {
    case _: Every => "Every(..., clock='processing')"
    case _ if window == Global => "EndOfStream()"
    case _ => "AfterClock()"
  }

  /** Rejects settings that exclude each other. */
  private def checkTogether(): Unit = for {
    member <- window.members
    row <- Exclusions.All
    setting <- row.settings if isSet(setting, member)
    other <- row.others if isSet(other, member)
  } {
    def named(text: String) = text.replace("<window>", member.productPrefix)
    val parameters =
      if (row.condition == "CONFLICT")
        Map("step" -> setting.text, "other" -> other.text, "why" -> row.why)
      else Map("argument" -> other.text)
    throw new InvalidSpec(
      setting.field,
      named(s"cannot be used with ${other.text}: ${row.why}"),
      row.condition,
      parameters.map { case (name, text) => name -> named(text) })
  }

  /** Whether a setting of the table of exclusions is set, for one of the windows. */
  private def isSet(setting: Exclusions.Setting, member: Window): Boolean = setting match {
    case Exclusions.Trigger => !hasDefaultTrigger
    case Exclusions.AfterClock => trigger.parts.contains(AfterClock)
    case Exclusions.EveryBatch => trigger.parts.contains(EveryBatch)
    case Exclusions.Purging => trigger.parts.exists(_.isInstanceOf[Purging])
    case Exclusions.Evictor => evictor.isDefined
    case Exclusions.Retract => retract
    case Exclusions.Apply => function.isCalled
    case Exclusions.ApplyRows => function.takesRows
    case Exclusions.WindowState => function.keepsByWindow
    case Exclusions.AllowedLateness => allowedLatenessUs != 0L
    case Exclusions.IdleTimeout => idleTimeout.isDefined
    case Exclusions.Slices => layout == Layout.Slices
    case Exclusions.Watermarks => watermarks
    case Exclusions.PointPolicy => outputPolicy.contains(OutputPolicy.PointAlignToWindowEnd)
    case Exclusions.ClipPolicyOffGrid =>
      outputPolicy.contains(OutputPolicy.ClipToWindowEnd) && !member.isInstanceOf[GridWindow]
    case Exclusions.ChangesOnly => changesOnly
    case Exclusions.Lifetime => lifetime.isDefined
    case Exclusions.LifetimeId => hasEdges
    case Exclusions.NoEventTime => !time.exists(_.isEventTime)
    case Exclusions.ArrivalTime => policy.exists(_.timeColumn.isEmpty)
    case Exclusions.Substreams => hasSubstreams
    case Exclusions.Stagger => member.stagger != Stagger.Aligned
    case Exclusions.MaxDuration =>
      member match {
        case session: SessionWindow => session.maxDurationUs.isDefined
        case _ => false
      }
    case Exclusions.Count => member.isInstanceOf[Count]
    case Exclusions.PartialCount =>
      member match {
        case count: Count => count.partial
        case _ => false
      }
    case Exclusions.Global => member == Global
    case Exclusions.Windows => window.isInstanceOf[Windows]
    case Exclusions.Snapshot => member.isInstanceOf[Snapshot]
    case Exclusions.CountByStart => member.isInstanceOf[CountByStart]
    case Exclusions.Swept => member.isInstanceOf[SweptWindow]
    case Exclusions.Points => !member.takesLifetimes
    case Exclusions.WithoutWindowBefore => !member.hasWindowBefore
  }

  private def hasDefaultTrigger: Boolean =
    window.defaultTrigger(time.contains(ProcessingTime)).contains(trigger)

  /** Rejects settings that need other windows, or a time. */
  private def checkWindows(): Unit = {
    Check.that(
      "allowed_lateness_us",
      allowedLatenessUs == 0L || time.exists(_.isEventTime),
      "needs event time",
      "NOT_EVENT_TIME")
    Check.that(
      "window_state",
      !function.keepsByWindow || !window.isMerging,
      "cannot be used with windows that merge",
      "STATE_WITH_MERGING",
      "window" -> window.productPrefix)
    Check.that(
      "output_policy",
      outputPolicy.isEmpty || !window.isEndless,
      "needs windows with bounds",
      "UNBOUNDED_WINDOW",
      "window" -> window.productPrefix)
    Check.that(
      "first_output_us",
      firstOutputUs.isEmpty || !window.isEndless,
      "needs windows with an end that is known in advance",
      "UNBOUNDED_WINDOW",
      "window" -> window.productPrefix)
    Check.that(
      "idle_timeout",
      idleTimeout.isEmpty || window.hasKnownEnd,
      "needs windows with an end that is known in advance",
      "UNBOUNDED_WINDOW",
      "window" -> window.productPrefix)
  }

  /** Rejects settings that need a time policy, or a time policy without substreams. */
  private def checkPolicy(): Unit = {
    Seq(
      "idle_timeout" -> idleTimeout.isDefined,
      "first_output_us" -> firstOutputUs.isDefined,
      "watermarks" -> watermarks).foreach { case (field, isSet) =>
      Check.that(
        field,
        !isSet || policy.isDefined,
        "needs a time policy",
        "NEEDS_TIME_POLICY",
        "value" -> time.fold("None")(_.productPrefix),
        "instead" -> "transom.TimePolicy('departed')")
    }
    def withoutSubstreams(field: String, holds: Boolean, setting: String): Unit =
      Check.that(
        field,
        holds || !hasSubstreams,
        "cannot be used with substreams",
        "TIME_POLICY_UNSUPPORTED",
        "setting" -> setting)
    withoutSubstreams("idle_timeout", idleTimeout.isEmpty, "idle_timeout")
    withoutSubstreams(
      "time.partition_column",
      policy.forall(_.partitionColumn.isEmpty),
      "partition")
  }
}

/** The lifetimes of results (S-20, S-21). */
sealed trait OutputPolicy

/** The values of [[OutputPolicy]]. */
object OutputPolicy {

  /** A result is a point at the end of its window. */
  case object PointAlignToWindowEnd extends OutputPolicy

  /** A result lasts as long as its window. */
  case object ClipToWindowEnd extends OutputPolicy
}

/** Which late rows go to a side output. */
sealed trait LateRows

/** The values of [[LateRows]]. */
object LateRows {

  /** No late rows; they are only counted. */
  case object No extends LateRows

  /** Rows that are late for all their windows. */
  case object Late extends LateRows

  /** Also rows that are late for some of their windows. */
  case object Partly extends LateRows
}

/** The state layout of an operator. */
sealed trait Layout

/** The values of [[Layout]]. */
object Layout {

  /** The planner chooses the layout. */
  case object Auto extends Layout

  /** The slice log: sorted segments per key group and slice. */
  case object Slices extends Layout

  /** The keyed layout: one entry per key. */
  case object Keyed extends Layout
}
