package transom.engine.spec

// format: off
/** Settings of a window operator that exclude each other.
  *
  * Generated from `spec/exclusions.json` by `make generate`.
  */
private[spec] object Exclusions {

  /** A setting of the table: how users write it, and its field in the message. */
  sealed abstract class Setting(val text: String, val field: String)

  /** `trigger()` with a trigger other than the default of the windows */
  case object Trigger extends Setting("trigger()", "trigger")
  /** `AfterClock`, alone or in another trigger */
  case object AfterClock extends Setting("AfterClock()", "trigger")
  /** `EveryBatch` */
  case object EveryBatch extends Setting("EveryBatch", "trigger")
  /** `Purging`, alone or in another trigger */
  case object Purging extends Setting("Purging", "trigger")
  /** `evictor()` */
  case object Evictor extends Setting("evictor()", "evictor")
  /** `retract()` */
  case object Retract extends Setting("retract()", "retract")
  /** `apply()` */
  case object Apply extends Setting("apply()", "function")
  /** `apply()` without `agg=` */
  case object ApplyRows extends Setting("apply()", "function")
  /** `apply(window_state=)` */
  case object WindowState extends Setting("window_state", "window_state")
  /** `allowed_lateness()` of more than zero */
  case object AllowedLateness extends Setting("allowed_lateness()", "allowed_lateness_us")
  /** `idle_timeout()` */
  case object IdleTimeout extends Setting("idle_timeout()", "idle_timeout")
  /** `options(layout="slices")` */
  case object Slices extends Setting("layout='slices'", "layout")
  /** `with_watermarks()` */
  case object Watermarks extends Setting("with_watermarks()", "watermarks")
  /** `output_policy("point_align_to_window_end")` */
  case object PointPolicy extends Setting("output_policy()", "output_policy")
  /** `output_policy("clip_to_window_end")` of windows that lie on no grid */
  case object ClipPolicyOffGrid extends Setting("output_policy('clip_to_window_end')", "output_policy")
  /** `changes_only()` */
  case object ChangesOnly extends Setting("changes_only()", "changes_only")
  /** `stream(lifetime=)` */
  case object Lifetime extends Setting("stream(lifetime=)", "lifetime")
  /** `Lifetime(id=)` */
  case object LifetimeId extends Setting("Lifetime(id=)", "lifetime.id_columns")
  /** a stream without event time */
  case object NoEventTime extends Setting("stream(time=)", "time")
  /** `TimePolicy(None)` */
  case object ArrivalTime extends Setting("TimePolicy(None)", "time.time_column")
  /** `TimePolicy(over=)` */
  case object Substreams extends Setting("TimePolicy(over=)", "time.over_columns")
  /** `Tumbling(stagger=)` other than "aligned" */
  case object Stagger extends Setting("stagger", "window.stagger")
  /** `Session(max_duration=)` */
  case object MaxDuration extends Setting("Session(max_duration=)", "window")
  /** `Count` */
  case object Count extends Setting("Count", "window")
  /** `Count(partial=True)` */
  case object PartialCount extends Setting("Count(partial=True)", "window")
  /** `Global` */
  case object Global extends Setting("Global", "window")
  /** `Windows` */
  case object Windows extends Setting("Windows", "window")
  /** `Snapshot` */
  case object Snapshot extends Setting("Snapshot", "window")
  /** `CountByStart` */
  case object CountByStart extends Setting("CountByStart", "window")
  /** `Snapshot`, `Rolling`, `CountByStart` */
  case object Swept extends Setting("<window>", "window")
  /** `Session`, `Count`, `Custom`, `Global`, `Rolling` */
  case object Points extends Setting("<window>", "window")
  /** `Session`, `Count`, `Custom`, `Global` */
  case object WithoutWindowBefore extends Setting("<window>", "window")

  /** Each of the settings excludes each of the others. The message is wrong in the field
    * of the setting. `<window>` in a text stands for the kind of a window.
    */
  final case class Exclusion(
      settings: Seq[Setting],
      others: Seq[Setting],
      why: String,
      condition: String = "CONFLICT")

  /** All rows of the table, in the order in which they are checked. */
  val All: Seq[Exclusion] = Seq(
    Exclusion(Seq(Trigger), Seq(Count), "Count windows fire when they are full"),
    Exclusion(Seq(AfterClock), Seq(Global), "Global windows have no end, and EndOfStream() fires them when the input ends"),
    Exclusion(Seq(Evictor), Seq(EveryBatch), "the results of EveryBatch cover all rows of a window"),
    Exclusion(Seq(Evictor), Seq(PartialCount), "these windows keep only their last rows anyway"),
    Exclusion(Seq(Retract), Seq(Evictor), "a later result does not cover evicted rows, so it replaces no earlier one"),
    Exclusion(Seq(Retract), Seq(PartialCount), "a later result does not cover older rows, so it replaces no earlier one"),
    Exclusion(Seq(Retract), Seq(Purging), "a later result does not cover purged rows, so it replaces no earlier one"),
    Exclusion(Seq(Retract), Seq(Apply), "the state does not store the rows that a function returns"),
    Exclusion(Seq(IdleTimeout), Seq(Windows), "a timeout follows the ends of one kind of windows"),
    Exclusion(Seq(Watermarks), Seq(Substreams), "each substream has a watermark of its own"),
    Exclusion(Seq(Trigger, Evictor, Retract, AllowedLateness), Seq(MaxDuration), "sessions with a maximum duration fire once"),
    Exclusion(Seq(Lifetime), Seq(Points), "<window> windows hold points in time"),
    Exclusion(Seq(LifetimeId), Seq(Windows), "each window would wait for the ends by itself"),
    Exclusion(Seq(LifetimeId), Seq(CountByStart), "these windows hold starts, and ends change nothing"),
    Exclusion(Seq(ApplyRows), Seq(LifetimeId), "the function sees when each row ends, and open rows have no end yet; with agg= it gets aggregates instead"),
    Exclusion(Seq(LifetimeId), Seq(ArrivalTime), "the two rows of a lifetime have the same time, but they arrive at two times"),
    Exclusion(Seq(ChangesOnly), Seq(WithoutWindowBefore), "<window> windows have no window before them"),
    Exclusion(Seq(ChangesOnly), Seq(Apply), "a function knows the bounds of its window, so its result may change with them"),
    Exclusion(Seq(NoEventTime), Seq(Lifetime, ChangesOnly, Swept), "these windows fire by the watermark", "NOT_EVENT_TIME"),
    Exclusion(Seq(Trigger, Evictor, Retract, AllowedLateness, IdleTimeout), Seq(Lifetime, ChangesOnly, Swept), "each of these windows fires once, at its end"),
    Exclusion(Seq(Stagger), Seq(Lifetime, ChangesOnly), "these windows are the same for all keys"),
    Exclusion(Seq(WindowState), Seq(Lifetime, Swept), "no later call could read the state of a window"),
    Exclusion(Seq(Slices), Seq(Lifetime, ChangesOnly, Swept), "only the keyed layout stores lifetimes"),
    Exclusion(Seq(PointPolicy), Seq(Snapshot), "results of snapshots last as long as their windows"),
    Exclusion(Seq(Watermarks), Seq(ClipPolicyOffGrid), "the start of the earliest open window is unknown for <window>"))
}
