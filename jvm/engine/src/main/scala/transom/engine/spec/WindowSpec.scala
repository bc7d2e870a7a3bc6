package transom.engine.spec

/** All that a window operator has to know, as it came in the message from Python.
  *
  * Columns are indexes into the list that travels beside the message.
  *
  * @param name
  *   name of the operator, if the user gave it one
  * @param time
  *   the clock; none if the windows need no time
  * @param orderColumns
  *   columns that tell the order in which rows arrived
  * @param pane
  *   whether results say which of their window's they are
  * @param retract
  *   whether results that have changed are taken back
  * @param deadLetters
  *   whether rows that no window can take are handed on
  * @param keyGroups
  *   number of groups that the keys are spread over
  * @param tickUs
  *   period of the rows that carry the wall clock
  */
final case class WindowSpec(
    name: Option[String],
    keyColumns: Seq[Int],
    time: Option[Time],
    orderColumns: Seq[Int],
    window: Window,
    trigger: Trigger,
    evictor: Option[Evictor],
    function: Function,
    allowedLatenessUs: Long,
    drain: Boolean,
    pane: Boolean,
    retract: Boolean,
    lateRows: LateRows,
    deadLetters: Boolean,
    keyGroups: Int,
    layout: Layout,
    tickUs: Long) {

  Check.notNegative("allowed_lateness_us", allowedLatenessUs)
  Check.positive("key_groups", keyGroups)
  Check.positive("tick_us", tickUs)
  checkTrigger()
  checkTogether()

  /** Whether anything happens because the wall clock has moved on. */
  def needsClock: Boolean = trigger.parts.exists(_.isOnClock) || (window match {
    case Global | _: Count => false
    case _ => time.contains(ProcessingTime)
  })

  private def checkTrigger(): Unit = {
    def byWatermark(part: Trigger): Boolean = part match {
      case _: AfterWatermark | Every(_, TriggerClock.Event, _) => true
      case _ => false
    }
    val inEventTime = time.exists(_.isInstanceOf[EventTime])
    Check.that("trigger", inEventTime || !trigger.parts.exists(byWatermark), "needs event time")
    Check.that(
      "trigger",
      !window.isMerging || trigger.canMerge,
      "cannot be used with windows that merge")
    window match {
      case count: Count =>
        Check.that("trigger", trigger == count.trigger, s"must be ${count.trigger}")
      case _ =>
    }
  }

  /** Refuses parts that exclude each other. */
  private def checkTogether(): Unit = {
    val partial = window match {
      case count: Count => count.partial
      case _ => false
    }
    Check.that(
      "evictor",
      evictor.isEmpty || !trigger.parts.contains(EveryBatch),
      "cannot be used with the trigger EveryBatch")
    Check.that("evictor", evictor.isEmpty || !partial, "cannot be used with partial windows")
    Check.that("retract", !retract || evictor.isEmpty, "cannot be used with an evictor")
    Check.that("retract", !retract || !partial, "cannot be used with partial windows")
    Check.that(
      "retract",
      !retract || !trigger.parts.exists(_.isInstanceOf[Purging]),
      "cannot be used with the trigger Purging")
    Check.that("retract", !retract || !function.isCalled, "cannot be used with apply")
    Check.that(
      "window_state",
      !function.keepsByWindow || !window.isMerging,
      "cannot be used with windows that merge")
  }
}

/** The clock that windows go by. */
sealed trait Time

/** Times from a column; `delayUs` behind the latest one runs the watermark, if it is set here. */
final case class EventTime(timeColumn: Int, delayUs: Option[Long] = None) extends Time {

  delayUs.foreach(Check.notNegative("delay_us", _))
}

/** The wall clock, by which nothing is late. */
case object ProcessingTime extends Time

/** What is computed from the rows of a window. */
sealed trait Function {
  def aggregateColumns: Seq[Int]

  /** Whether a function of the user's is called for each result. */
  def isCalled: Boolean

  /** Whether it needs the rows themselves. */
  def takesRows: Boolean = isCalled && aggregateColumns.isEmpty

  /** Whether it keeps something for each window. */
  def keepsByWindow: Boolean

  /** Whether it keeps something for each window or each key. */
  def keepsState: Boolean
}

final case class AggFunction(aggregateColumns: Seq[Int]) extends Function {
  override def isCalled: Boolean = false
  override def keepsByWindow: Boolean = false
  override def keepsState: Boolean = false
}

/** A function that is called with the rows of a window or, if there are aggregates, with their
  * one row.
  *
  * Its schemas are in the words of whoever calls it.
  *
  * @param schema
  *   of what it returns
  * @param windowState
  *   of what it keeps for each window and key
  * @param keyState
  *   of what it keeps for each key
  * @param outputs
  *   the schema of each of its further outputs, by name
  */
final case class ApplyFunction(
    schema: String,
    form: RowsForm,
    aggregateColumns: Seq[Int],
    windowState: Option[String] = None,
    keyState: Option[String] = None,
    outputs: Option[String] = None)
    extends Function {
  override def isCalled: Boolean = true
  override def keepsByWindow: Boolean = windowState.isDefined
  override def keepsState: Boolean = keepsByWindow || keyState.isDefined
}

/** What rows are handed to a function as. */
sealed trait RowsForm

object RowsForm {
  case object Arrow extends RowsForm
  case object Pandas extends RowsForm
}

/** Which late rows are handed on. */
sealed trait LateRows

object LateRows {

  /** None; they are counted. */
  case object No extends LateRows

  /** Rows that missed all their windows. */
  case object Late extends LateRows

  /** Also rows that missed some of their windows. */
  case object Partly extends LateRows
}

/** How state is laid out. */
sealed trait Layout

object Layout {
  case object Auto extends Layout
  case object Slices extends Layout
  case object Keyed extends Layout
}
