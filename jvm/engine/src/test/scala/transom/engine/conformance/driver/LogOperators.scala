package transom.engine.conformance.driver

import transom.engine.firing.{AfterClock, AfterWatermark, EndOfStream}
import transom.engine.runtime._
import transom.engine.session.SessionLog
import transom.engine.slice.SliceLogs
import transom.engine.spec._
import transom.engine.state.{AccumulatorMerger, Limits, MemoryStore, SessionBounds}
import transom.engine.window.{Count, Global, GridSlices, Session, SessionSlices, Window}

/** Runs a slice log or a session log. */
abstract class LogRunner(spec: WindowSpec) extends Operator(spec) {
  protected val stores: Vector[MemoryStore] =
    spec.window.members.toVector.map(_ => new MemoryStore)

  override def isEmpty: Boolean =
    stores.forall(store => store.size == 0 && store.directory == null)
}

object LogRunner {

  /** The operator of windows whose state is logs. */
  def operatorOf(spec: WindowSpec, limits: Limits): LogTaskOperator[Output] = {
    val merger: AccumulatorMerger[Output] = new RowList
    val slices = spec.window.sliceAssigner
    val logOf = slices match {
      case grid: GridSlices => SliceLogs.over(spec, grid.grids, merger, limits)
      case sessions: SessionSlices => SessionLog.over(sessions, merger, limits)
    }
    new LogTaskOperator(spec, slices, merger, Operator.Side, logOf)
  }
}

/** Runs grid windows in the slice log. */
final class GridOperator(spec: WindowSpec, limits: Limits) extends LogRunner(spec) {
  private val slices = spec.window.sliceAssigner
  private val operator = LogRunner.operatorOf(spec, limits)
  private val rows = new CombinedRows(slices, forKeyedLayout = false, spec, counts)

  def this(window: Window) = this(Specs.of(window), GridOperator.SmallBundles)

  override def open(clock: Long): KeyGroupOperator[Output] =
    operator.open(0, stores, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long) =
    rows.inputs(held, lateWatermark) { (writer, row) =>
      writer.append(row.hash, row.keyBytes, row.accumulator)
    }
}

object GridOperator {

  /** Limits with a small bundle size, so that tests bundle their segments in different ways. */
  val SmallBundles: Limits = Limits.Default.copy(bundle = 400)
}

/** Runs sessions in the session log. */
final class SessionOperator(spec: WindowSpec, limits: Limits) extends LogRunner(spec) {
  private val slices = spec.window.sliceAssigner
  private val operator = LogRunner.operatorOf(spec, limits)
  private val rows = new CombinedRows(slices, forKeyedLayout = false, spec, counts)

  def this(gap: Long, inclusive: Boolean = true, limits: Limits = Limits.Default) =
    this(Specs.of(Session(gap, inclusive)), limits)

  override def open(clock: Long): KeyGroupOperator[Output] =
    operator.open(0, stores, clock)

  override protected def mapSide(held: Seq[Row], lateWatermark: Long) =
    rows.inputs(held, lateWatermark) { (writer, row) =>
      val bounds = new SessionBounds().set(row.time.get, row.time.get)
      writer.append(row.hash, row.keyBytes, bounds, row.accumulator)
    }
}

/** Specs for tests in which only the window and its lateness matter. */
object Specs {
  def of(
      window: Window,
      time: Time = EventTime(0),
      allowedLateness: Long = 0L,
      lateRows: LateRows = LateRows.Late): WindowSpec =
    WindowSpec(
      name = None,
      keyColumns = Nil,
      time = Some(time),
      lifetime = None,
      orderColumns = Nil,
      window = window,
      trigger = window match {
        case count: Count => count.requiredTrigger
        case Global if time == ProcessingTime => EndOfStream
        case _ if time == ProcessingTime => AfterClock
        case _ => AfterWatermark()
      },
      evictor = None,
      function = AggFunction(Nil),
      allowedLatenessUs = allowedLateness,
      idleTimeout = None,
      outputPolicy = None,
      firstOutputUs = None,
      drain = true,
      pane = false,
      retract = false,
      changesOnly = false,
      lateRows = lateRows,
      deadLetters = false,
      watermarks = false,
      keyGroups = 1,
      layout = Layout.Auto,
      tickUs = 1000L,
      rowLog = 0)
}
