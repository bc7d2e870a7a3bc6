package transom.engine.spec

/** Checks the settings of windows over lifetimes, and of the lifetimes of results. */
private[spec] object LifetimeChecks {

  /** Rejects lifetimes of results without bounds, and watermarks that nothing defines. */
  def output(spec: WindowSpec): Unit = {
    import spec._
    val hasBounds = window match {
      case Global | _: Count => false
      case _ => true
    }
    Check.that("output_policy", outputPolicy.isEmpty || hasBounds, "needs windows with bounds")
    Check.that(
      "output_policy",
      !outputPolicy.contains(OutputPolicy.PointAlignToWindowEnd) ||
        !window.members.exists(_.isInstanceOf[Snapshot]),
      "of snapshot windows must be clip_to_window_end")
    Check.that("watermarks", !watermarks || !hasSubstreams, "cannot be used with substreams")
    Check.that(
      "watermarks",
      !watermarks || hasWatermarkOfStarts,
      "need windows on a grid if results last as long as their windows")
  }

  /** Rejects settings that a sweep over lifetimes does not support. Its windows fire once. */
  def swept(spec: WindowSpec): Unit = if (spec.isSwept) {
    import spec._
    val subject = if (lifetime.isDefined) "lifetimes" else "windows between starts and ends"
    val takesLifetimes = window.members.forall {
      case swept: SweptWindow => swept.takesLifetimes
      case _: GridWindow => true
      case _ => false
    }
    Check.that(
      "lifetime",
      lifetime.isEmpty || takesLifetimes,
      s"cannot be used with ${window.productPrefix} windows")
    Check.that(
      "changes_only",
      !changesOnly || window.members.forall {
        case _: SweptWindow | _: GridWindow => true
        case _ => false
      },
      s"cannot be used with ${window.productPrefix} windows")
    Check.that("changes_only", !changesOnly || !function.isCalled, "cannot be used with apply")
    Check.that("time", time.exists(_.isEventTime), s"must be event time for $subject")
    Check.that(
      "lifetime.id_columns",
      !hasEdges || !window.members.exists(_.isInstanceOf[CountByStart]),
      "cannot be used with windows that hold starts")
    Check.that(
      "lifetime.id_columns",
      !hasEdges || !window.isInstanceOf[Windows],
      "cannot be used with several windows")
    // The rows of a lifetime share its time, but they arrive one after the other.
    val hasArrivalTimes = policy.exists(_.timeColumn.isEmpty)
    Check.that("lifetime.id_columns", !hasEdges || !hasArrivalTimes, "needs a time column")
    Seq(
      "trigger" -> (trigger == AfterWatermark()),
      "evictor" -> evictor.isEmpty,
      "retract" -> !retract,
      "allowed_lateness_us" -> (allowedLatenessUs == 0L),
      "idle_timeout" -> idleTimeout.isEmpty,
      "window.stagger" -> (window.stagger == Stagger.Aligned),
      "window_state" -> !function.keepsByWindow).foreach { case (field, holds) =>
      Check.that(field, holds, s"cannot be used with $subject")
    }
  }
}
