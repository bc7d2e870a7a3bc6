package transom.engine.conformance.check

import java.time.LocalDateTime

import transom.engine.conformance.vector.{Json, Scale, Settings, Unsupported}
import transom.engine.time.Zone
import transom.engine.window.{GridModel, Sessions, TimeWindow, TumblingGrid}

/** Vectors about which windows and slices a time lies in. */
object GridKinds {

  def assigner(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val windows = vector("windows")
    val assign: Json => Seq[TimeWindow] = windows("type").string match {
      case "session" =>
        query => {
          val gap = if (query.has("gap_ms")) query("gap_ms") else windows("gap_ms")
          Seq(Sessions.windowOf(time(query, scale), scale.in(gap.long)))
        }
      case "tumbling" | "sliding" | "cumulate" =>
        val grid = Settings.grid(scale, "UTC", windows).grid
        query => grid.windowsOf(time(query, scale))
      case other => Unsupported(s"$other windows are not on a grid")
    }
    cases(vector) { query =>
      Outcome.compareInAnyOrder(
        s"windows of $query",
        query("expected").elements.map(window => scale.show(scale.window(window))),
        assign(query).map(scale.show))
    }
  }

  /** Assigners in processing time do the same with another time. */
  private def time(query: Json, scale: Scale): Long =
    scale.in((if (query.has("ts")) query("ts") else query("processing_time")).long)

  def windowStart(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    cases(vector) { query =>
      val size = scale.in(query("size_ms").long)
      val grid = new TumblingGrid(size, scale.in(query("offset_ms").long), Zone.Utc)
      val got = scale.out(grid.sliceOf(scale.in(query("ts").long)))
      Outcome.compare(s"start of $query", query("window_start").long, got)
    }
  }

  /** The vectors call slices panes, as Flink's tests do. */
  def sliceBounds(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val grid = Settings.grid(scale, "UTC", vector("windows")).grid
    def sliceAt(start: Long) = TimeWindow(start, grid.sliceEnd(start))
    cases(vector) { query =>
      val expected = query("expected").value
      val got =
        if (query.has("pane_of")) {
          scale.show(sliceAt(grid.sliceOf(scale.in(query("pane_of").long))))
        } else if (query.has("panes_of_window")) {
          val window = scale.window(query("panes_of_window"))
          val starts = Iterator.iterate(window.start)(grid.sliceEnd).takeWhile(_ < window.end)
          starts.map(start => scale.show(sliceAt(start))).toVector
        } else {
          val slice = scale.window(query("last_window_of_pane"))
          scale.show(grid.windowsOf(slice.start).last)
        }
      Outcome.compare(s"$query", expected, got)
    }
  }

  /** Runs vectors about the first window of a row, in local time. */
  def localWindows(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val grid = Settings.grid(scale, vector("time_zone").string, vector("windows")).grid
    cases(vector) { query =>
      def local(name: String) = GridModel.micros(LocalDateTime.parse(query(name).string))
      val first = grid.windowsOf(scale.in(query("epoch_ms").long)).head
      Outcome.compare(
        s"first window of $query",
        Vector(local("window_start_local"), local("window_end_local")),
        Vector(first.start, first.end))
    }
  }

  def slices(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    cases(vector) { query =>
      val settings = Settings.grid(scale, "UTC", query, vector("windows"))
      val slices = new Slices(settings, settings.grid, scale)
      val (expected, got) =
        if (query.has("slice_end_of")) {
          (query("expected").value, slices.endOf(query("slice_end_of").long))
        } else if (query.has("window_start_of_window_end")) {
          (query("expected").value, slices.windowStart(query("window_start_of_window_end").long))
        } else if (query.has("expired_after_window_end")) {
          val expired = slices.expiredAfter(query("expired_after_window_end").long)
          (query("expected").elements.map(_.long).toSet, expired.toSet)
        } else if (query.has("merge_for_window_end")) {
          val (target, merged) = slices.mergedFor(query("merge_for_window_end").long)
          val expected = query("slices").elements.map(_.long).toSet
          ((Option(query("merge_target").value), expected), (target, merged.toSet))
        } else {
          val next =
            slices.nextTrigger(query("next_trigger_after").long, query("window_empty").boolean)
          (Option(query("expected").value), next)
        }
      Outcome.compare(s"$query", expected, got)
    }
  }

  private def cases(vector: Json)(check: Json => Option[String]): Outcome =
    Outcome.of(vector("cases").elements.flatMap(check(_)))
}
