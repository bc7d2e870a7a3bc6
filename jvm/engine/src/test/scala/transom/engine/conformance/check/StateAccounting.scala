package transom.engine.conformance.check

import scala.util.Try

import transom.engine.conformance.driver.{JsonAggregation, OneKey, Row, RowsInMemory, Specs}
import transom.engine.conformance.vector.{Json, Unsupported}
import transom.engine.firing.{Never, TriggerContext, TriggerLogic, TriggerMemory, TriggerResult}
import transom.engine.keyed.{KeyedOperator, KeyedPlan}
import transom.engine.keyed.contract.{Change, FiredWindow, Results}
import transom.engine.keyed.keystate.KeyState
import transom.engine.runtime.Pulled
import transom.engine.setting.InvalidSpec
import transom.engine.spec._
import transom.engine.time.Timeline
import transom.engine.window.{Custom, Global, RowContext, Session, TimeWindow, Window}

/** Runs vectors that describe in words which state exists when. Each situation is implemented
  * here.
  */
object StateAccounting {

  def run(vector: Json): Outcome =
    Outcome.of(vector("cases").elements.flatMap { query =>
      val situation = query("situation").string
      val play = situations.getOrElse(situation, Unsupported(s"the situation $situation"))
      val got = play()
      // Flink counts the entries of its lists. transom has one entry or none.
      got.flatMap { case (name, count) =>
        query.get(name).flatMap(some => Outcome.compare(s"$situation: $name", some.value, count))
      }
    })

  private val situations: Map[String, () => Map[String, Any]] = Map(
    "global window" -> { () =>
      val key = new Key(Global)
      key.row()
      key.counts
    },
    "event-time window [0, Long.MAX-10), lateness 20 (sum overflows)" -> { () =>
      val key = new Key(Custom(0), lateness = 20)
      key.row(windows = Seq(TimeWindow(0, Long.MaxValue - 10)))
      key.counts
    },
    "window [0,20), lateness 20, advance to 39" -> { () =>
      val key = new Key(Custom(0), lateness = 20)
      key.row(windows = Seq(TimeWindow(0, 20)))
      key.advance(40)
      key.counts
    },
    "same, contents purged earlier by the trigger" -> { () =>
      val key = new Key(Custom(0), lateness = 20, onRow = TriggerResult.Purge)
      key.row(windows = Seq(TimeWindow(0, 20)))
      key.advance(40)
      key.counts
    },
    "session window purged on element" -> { () =>
      val key = new Key(Session(20), onRow = TriggerResult.Purge)
      key.row()
      key.counts
    },
    "session window [0,4) purged on timer at 1" -> { () =>
      val key = new Key(Session(4), timer = Some(2), onTimer = TriggerResult.Purge)
      key.row()
      key.advance(2)
      key.counts
    },
    "session window [0,20), lateness 20, advance to 39" -> { () =>
      val key = new Key(Session(20), lateness = 20)
      key.row()
      key.advance(40)
      key.counts
    },
    "timer of a session window that no longer exists (merged away or cleaned up)" -> { () =>
      // The timer of [0,4) at 2 is removed when [0,4) and [2,6) merge.
      val key = new Key(Session(4), timer = Some(2), onTimer = TriggerResult.Fire)
      key.row()
      key.row(time = 2)
      key.advance(3)
      Map("trigger_called" -> (key.timerCalls > 0), "function_called" -> (key.results > 0))
    },
    "per-window user state requested from a merging (session) window" -> { () =>
      // The spec already refuses this. Python keeps the state, so the engine has no code for it.
      val stateful = ApplyFunction("n int", RowsForm.Arrow, Nil, windowState = Some("n int"))
      val isRefused = Try(Specs.of(Session(4)).copy(function = stateful)).failed.toOption.exists {
        case invalid: InvalidSpec => invalid.field == "window_state"
        case _ => false
      }
      val text = "Per-window state is not allowed when using merging windows."
      Map("error" -> (if (isRefused) text else "none"))
    })

  /** A key whose trigger sets memory and one timer in each window, and counts its calls. */
  private final class Key(
      window: Window,
      lateness: Long = 0,
      onRow: TriggerResult = TriggerResult.Continue,
      timer: Option[Long] = None,
      onTimer: TriggerResult = TriggerResult.Continue)
      extends Results[Row, Vector[Json], Unit] {

    var timerCalls = 0
    var results = 0
    private var clears = 0
    private val state = new KeyState[Vector[Json]]
    private val contents = new RowsInMemory

    private val spy = new TriggerLogic[Row, Vector[Json]] {
      private type Context = TriggerContext[Row, Vector[Json]]
      override def slots: Int = 1
      override def onRow(window: Context): TriggerResult = {
        if (!window.isSet(0)) timer.foreach(window.addTimer(Timeline.Event, _))
        window(0) = 1L
        Key.this.onRowAnswer
      }
      override def onTimer(timeline: Timeline, time: Long, window: Context): TriggerResult =
        if (timer.contains(time)) {
          timerCalls += 1
          Key.this.onTimerAnswer
        } else TriggerResult.Continue
      override def onMerge(sources: Seq[TriggerMemory], window: Context): Unit =
        window(0) = 1L
      override def clear(window: Context): Unit = {
        clears += 1
        window.unset(0)
      }
    }

    private def onRowAnswer = onRow
    private def onTimerAnswer = onTimer

    private val plan: KeyedPlan[Row, Vector[Json]] = KeyedPlan
      .of[Row, Vector[Json]](
        window,
        Timeline.Event,
        Never,
        None,
        new JsonAggregation(_.map(_.value)),
        contents,
        null)
      .copy(trigger = spy, allowedLateness = lateness, emitsRows = true)
    private val operator = new KeyedOperator(plan, contents, this)

    def row(time: Long = 0, windows: Seq[TimeWindow] = Nil): Unit = {
      val arrival = new RowContext
      arrival.time = time
      arrival.windows = windows
      val value = Json.parse("1")
      OneKey.process(operator, state, Row(value, value, Some(time), 0L), arrival): Unit
    }

    def advance(watermark: Long): Unit = OneKey.advance(operator, state, watermark, Long.MinValue)

    def counts: Map[String, Any] = {
      val timers = if (state.nextTimer == Long.MaxValue) 0L else 1L
      Map(
        "content_entries" -> contents.size.toLong,
        "trigger_state_entries" -> state.size.toLong,
        "session_set_entries" -> state.size.toLong,
        "per_window_user_state_entries" -> state.size.toLong,
        "cleanup_timers" -> timers,
        "timers" -> timers,
        "trigger_clear_calls" -> clears.toLong)
    }

    override def pointAt(key: Array[Byte]): Unit = ()

    override def result(window: FiredWindow, values: Vector[Json]): Unit = ()

    override def ofRows(window: FiredWindow, rows: Iterator[Row]): Iterator[Unit] =
      Pulled.one(results += 1)

    override def change(window: FiredWindow, change: Change, result: Array[Byte]): Unit = ()
    override def windowGone(window: FiredWindow): Unit = ()
  }
}
