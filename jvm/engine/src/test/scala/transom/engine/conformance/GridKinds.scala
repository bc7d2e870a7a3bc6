package transom.engine.conformance

import java.time.LocalDateTime

import transom.engine._

/** Vectors about which windows, panes and slices a time lies in. */
object GridKinds {

  def assigner(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val windows = vector("windows")
    val assign: Json => Seq[TimeWindow] = windows("type").string match {
      case "session" =>
        asked => {
          val gap = if (asked.has("gap_ms")) asked("gap_ms") else windows("gap_ms")
          Seq(Sessions.windowOf(time(asked, scale), scale.in(gap.long)))
        }
      case "tumbling" | "sliding" | "cumulate" =>
        val grid = Grid.of(Settings.grid(scale, "UTC", windows))
        asked => grid.windowsOf(time(asked, scale))
      case other => Unsupported(s"$other windows are not on a grid")
    }
    cases(vector) { asked =>
      Outcome.compareInAnyOrder(
        s"windows of $asked",
        asked("expected").elements.map(window => scale.show(scale.window(window))),
        assign(asked).map(scale.show))
    }
  }

  /** Assigners on the clock ask the same question of another time. */
  private def time(asked: Json, scale: Scale): Long =
    scale.in((if (asked.has("ts")) asked("ts") else asked("processing_time")).long)

  def windowStart(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    cases(vector) { asked =>
      val size = scale.in(asked("size_ms").long)
      val grid = new TumblingGrid(size, scale.in(asked("offset_ms").long), Zone.Utc)
      val got = scale.out(grid.sliceOf(scale.in(asked("ts").long)))
      Outcome.compare(s"start of $asked", asked("window_start").long, got)
    }
  }

  def panes(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val grid = Grid.of(Settings.grid(scale, "UTC", vector("windows")))
    def paneAt(start: Long) = TimeWindow(start, grid.sliceEnd(start))
    cases(vector) { asked =>
      val expected = asked("expected").value
      val got =
        if (asked.has("pane_of")) {
          scale.show(paneAt(grid.sliceOf(scale.in(asked("pane_of").long))))
        } else if (asked.has("panes_of_window")) {
          val window = scale.window(asked("panes_of_window"))
          val starts = Iterator.iterate(window.start)(grid.sliceEnd).takeWhile(_ < window.end)
          starts.map(start => scale.show(paneAt(start))).toVector
        } else {
          val pane = scale.window(asked("last_window_of_pane"))
          scale.show(grid.windowsOf(pane.start).last)
        }
      Outcome.compare(s"$asked", expected, got)
    }
  }

  /** The first window that a row is in, on the local clock. */
  def localWindows(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    val grid = Grid.of(Settings.grid(scale, vector("time_zone").string, vector("windows")))
    cases(vector) { asked =>
      def local(name: String) = GridModel.micros(LocalDateTime.parse(asked(name).string))
      val first = grid.windowsOf(scale.in(asked("epoch_ms").long)).head
      Outcome.compare(
        s"first window of $asked",
        Vector(local("window_start_local"), local("window_end_local")),
        Vector(first.start, first.end))
    }
  }

  def slices(vector: Json): Outcome = {
    val scale = Scale.of(vector)
    cases(vector) { asked =>
      val settings = Settings.grid(scale, "UTC", asked, vector("windows"))
      val slices = new Slices(settings, Grid.of(settings), scale)
      val (expected, got) =
        if (asked.has("slice_end_of")) {
          (asked("expected").value, slices.endOf(asked("slice_end_of").long))
        } else if (asked.has("window_start_of_window_end")) {
          (asked("expected").value, slices.windowStart(asked("window_start_of_window_end").long))
        } else if (asked.has("expired_after_window_end")) {
          val expired = slices.expiredAfter(asked("expired_after_window_end").long)
          (asked("expected").elements.map(_.long).toSet, expired.toSet)
        } else if (asked.has("merge_for_window_end")) {
          val (target, merged) = slices.mergedFor(asked("merge_for_window_end").long)
          val expected = asked("slices").elements.map(_.long).toSet
          ((Option(asked("merge_target").value), expected), (target, merged.toSet))
        } else {
          val next =
            slices.nextTrigger(asked("next_trigger_after").long, asked("window_empty").boolean)
          (Option(asked("expected").value), next)
        }
      Outcome.compare(s"$asked", expected, got)
    }
  }

  private def cases(vector: Json)(check: Json => Option[String]): Outcome =
    Outcome.of(vector("cases").elements.flatMap(check(_)))
}
