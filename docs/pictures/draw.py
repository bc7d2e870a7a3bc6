"""Draws the pictures of the documentation: ``make pictures``.

The models of the rules compute the windows, the late rows and the fired windows. Tests compare real
queries with the same models.
"""

from datetime import timedelta
from math import gcd
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import transom
from docs.pictures.policies import partitions, rules
from docs.pictures.shapes import BLUE, GREY, RED, SAND, STYLE, bar, bare
from tests.end_to_end.models import lifetimes as lifetime_model
from tests.end_to_end.models import model

HERE = Path(__file__).parent

# All times are minutes past the hour, of rows of one key.
TIMES = [2, 4, 11, 13, 16, 27, 31, 33]
SHOWN = range(-5, 46)

# The start and the end of each row.
LIFETIMES = [(2, 12), (5, 9), (9, 20), (16, 30), (24, 28)]

BATCHES = [[3, 6, 5, 8], [12, 9, 14, 11], [6, 17, 21, 18], [9, 24, 19, 27], [22, 29, 15, 31]]
DELAY, SIZE = 4, 10


def rows_at(times: list[int], batch: int = 0) -> list[model.Row]:
    """Rows of one key. The value of a row is the number of its batch."""
    return [("a", time, batch) for time in times]


def on_a_grid(assign: model.Assign) -> list[model.Window]:
    """The windows in the picture, with or without rows."""
    found = {window for time in SHOWN for window in assign(time)}
    return sorted(w for w in found if w[0] in SHOWN and w[1] in SHOWN)


def as_sessions(gap: int) -> list[model.Window]:
    """The sessions of the rows. A much later row of another key lets them fire."""
    batches: list[list[model.Row]] = [rows_at(TIMES), [("later", 1_000, 1)]]
    fired, _ = model.sessions(batches, 0, gap, inclusive=True)
    return sorted((start, end) for key, start, end, *_ in fired if key == "a")


def windows() -> Figure:
    """The same rows in each kind of window."""
    kinds = {
        "Tumbling(size='10 minutes')": on_a_grid(model.tumbling(10)),
        "Hopping(size='10 minutes', slide='5 minutes')": on_a_grid(model.hopping(10, 5)),
        "Hopping(size='5 minutes', slide='10 minutes')": on_a_grid(model.hopping(5, 10)),
        "Cumulate(size='20 minutes', step='5 minutes')": on_a_grid(model.cumulate(20, 5)),
        "Session(gap='6 minutes')": as_sessions(6),
    }
    lanes = [_lanes(spans) for spans in kinds.values()]
    figure = Figure(figsize=(8.5, 7.2), layout="constrained")
    plots = figure.subplots(
        len(kinds), 1, sharex=True, height_ratios=[max(lane) + 2 for lane in lanes]
    )
    for plot, (kind, spans), lane_of in zip(plots, kinds.items(), lanes, strict=True):
        for (start, end), lane in zip(spans, lane_of, strict=True):
            has_rows = any(start <= time < end for time in TIMES)
            bar(plot, lane + 1, (start, end), BLUE if has_rows else None)
        inside = [any(start <= time < end for start, end in spans) for time in TIMES]
        colors = ["black" if taken else "white" for taken in inside]
        plot.scatter(TIMES, [0] * len(TIMES), color=colors, edgecolor="black", s=22, zorder=3)
        plot.set_title(kind, loc="left", fontsize=10, family="monospace")
        plot.set_xlim(SHOWN.start - 1, SHOWN.stop)
        plot.set_ylim(-0.6, max(lane_of) + 1.7)
        bare(plot)
    plots[-1].set_xlabel("minutes; dots are rows, hollow ones in no window; filled windows fire")
    return figure


def watermark() -> Figure:
    """Batches of rows, with the late watermark and the event watermark of each batch."""
    batches = [rows_at(times, number) for number, times in enumerate(BATCHES)]
    _, late = model.grid(batches, DELAY, model.tumbling(SIZE))
    figure = Figure(figsize=(8.5, 5.4), layout="constrained")
    plot = figure.subplots()
    for end in range(SIZE, 31, SIZE):
        plot.axhline(end, color=GREY, linewidth=0.7, zorder=1)
    steps = list(model.judged(batches, DELAY))[: len(batches)]
    for number, (late_watermark, batch, event_watermark) in enumerate(steps):
        left = number * 5
        if number % 2:
            plot.axvspan(left - 0.7, left + 3.7, color=SAND, linewidth=0, zorder=0)
        colors = [RED if row in late else BLUE for row in batch]
        places = range(left, left + len(batch))
        plot.scatter(places, BATCHES[number], color=colors, s=34, zorder=3)
        for level, line in ((late_watermark, ":"), (event_watermark, "-")):
            if level is not None:
                plot.plot([left - 0.7, left + 3.7], [level] * 2, line, color="black", linewidth=1.6)
        reached = range((late_watermark or 0) + 1, (event_watermark or 0) + 1)
        fired = [end for end in range(SIZE, 31, SIZE) if end in reached]
        plot.text(left + 1.5, 40.5, f"batch {number}", ha="center", fontsize=10)
        text = "\n".join(f"fires [{end - SIZE}, {end})" for end in fired)
        plot.text(left + 1.5, 37.8, text, ha="center", color=BLUE)
    plot.plot([], [], "-", color="black", label="watermark by which the batch fires")
    plot.plot([], [], ":", color="black", label="watermark by which its rows are late")
    plot.scatter([], [], color=RED, label="late: its window had fired")
    plot.legend(loc="lower right", framealpha=1, fontsize=8)
    plot.set_ylabel("event time in minutes; grey lines where windows end")
    plot.set_xlabel(f"order of arrival; windows of {SIZE} minutes, a delay of {DELAY} minutes")
    plot.set_xlim(-0.9, 5 * len(batches) - 1)
    plot.set_ylim(0, 43)
    plot.set_yticks(range(0, 36, 5))
    plot.set_xticks([])
    plot.spines[["top", "right"]].set_visible(False)
    return figure


def partly_late() -> Figure:
    """A row that is late for some of its windows."""
    row, reached = 12, 17
    held = model.hopping(10, 5)(row)
    figure = Figure(figsize=(8.5, 2.8), layout="constrained")
    plot = figure.subplots()
    for lane, (start, end) in enumerate(w for w in on_a_grid(model.hopping(10, 5)) if w[1] < 30):
        holds, fired = (start, end) in held, end <= reached
        bar(plot, lane, (start, end), (RED if fired else BLUE) if holds else None)
        if holds:
            at, text = (start, "missed: it has fired") if fired else (row, "counts here")
            plot.text(at + 0.3, lane, text, va="center", fontsize=8)
    plot.axvline(reached, color="black", linewidth=1.4)
    plot.text(reached + 0.3, 4.75, f"watermark by which rows are late: {reached}", fontsize=9)
    plot.axvline(row, color="black", linewidth=0.7, linestyle=":", zorder=0)
    plot.scatter([row], [-1], color="black", s=34, zorder=3)
    plot.text(row + 0.4, -1.2, f"row at {row}", fontsize=9)
    plot.set_xlabel("minutes; windows of 10 minutes, one every 5")
    plot.set_ylim(-1.7, 5.4)
    bare(plot)
    return figure


def slices() -> Figure:
    """The slices that overlapping windows share."""
    size, slide = 30, 20
    width = gcd(size, slide)
    spans = sorted({w for time in range(20, 50) for w in model.hopping(size, slide)(time)})
    bounds = range(spans[0][0], spans[-1][1], width)
    figure = Figure(figsize=(8.5, 3.0), layout="constrained")
    plot = figure.subplots()
    for number, start in enumerate(bounds):
        bar(plot, 0, (start, start + width), GREY)
        plot.text(start + width / 2, 0, f"slice {number}", ha="center", va="center", fontsize=8)
    for lane, (start, end) in enumerate(spans):
        held = [str(number) for number, cut in enumerate(bounds) if start <= cut < end]
        bar(plot, lane + 1.2, (start, end), BLUE)
        text = f"window of slices {', '.join(held)}"
        plot.text((start + end) / 2, lane + 1.2, text, ha="center", va="center", fontsize=8)
    plot.set_xlabel(f"minutes; windows of {size} minutes, one every {slide}: slices of {width}")
    plot.set_xlim(bounds.start - 1, bounds.stop + 1)
    bare(plot)
    return figure


def sessions() -> Figure:
    """Sessions of one key, and the slices of their rows."""
    gap = 6
    last = max(TIMES) // gap
    figure = Figure(figsize=(8.5, 2.4), layout="constrained")
    plot = figure.subplots()
    for number in range(last + 1):
        bar(plot, 0, (number * gap, (number + 1) * gap), GREY)
    for start, end in as_sessions(gap):
        bar(plot, 1.2, (start, end), BLUE)
    plot.scatter(TIMES, [0] * len(TIMES), color="black", s=22, zorder=3)
    plot.text(-1, 0, "slices", ha="right", va="center")
    plot.text(-1, 1.2, "sessions", ha="right", va="center")
    plot.set_xlabel(f"minutes; a gap of {gap}, and slices as wide; dots are rows")
    plot.set_xticks(range(0, 46, gap))
    plot.set_xlim(-6, 46)
    bare(plot)
    return figure


def lifetimes() -> Figure:
    """The lifetimes of five rows, and the number of rows in each of their windows."""
    kinds = {
        "Snapshot()": transom.Snapshot(),
        "Rolling('10 minutes'), without lifetimes": transom.Rolling("10 minutes"),
        "Hopping(size='10 minutes', slide='5 minutes')": transom.Hopping(
            size="10 minutes", slide="5 minutes"
        ),
    }
    counts = [rows_in(window) for window in kinds.values()]
    lanes = [_lanes([span for span, _ in held]) for held in counts]
    figure = Figure(figsize=(8.5, 7.2), layout="constrained")
    heights = [len(LIFETIMES) + 1, *(max(lane) + 2 for lane in lanes)]
    rows, *plots = figure.subplots(len(kinds) + 1, 1, sharex=True, height_ratios=heights)
    for number, span in enumerate(LIFETIMES):
        bar(rows, -number, span, GREY)
        rows.scatter([span[0]], [-number], color="black", s=22, zorder=3)
        rows.text(sum(span) / 2, -number, f"row {number + 1}", ha="center", va="center", fontsize=8)
    rows.set_title("five rows of one key", loc="left", fontsize=10)
    for plot, kind, held, lane_of in zip(plots, kinds, counts, lanes, strict=True):
        for (span, count), lane in zip(held, lane_of, strict=True):
            bar(plot, lane, span, BLUE)
            plot.text(span[1] - 0.3, lane, str(count), ha="right", va="center", fontsize=8)
        plot.set_title(kind, loc="left", fontsize=10, family="monospace")
        plot.set_ylim(-0.6, max(lane_of) + 0.6)
    for plot in (rows, *plots):
        for time in sorted({time for span in LIFETIMES for time in span}):
            plot.axvline(time, color=GREY, linewidth=0.5, linestyle=":", zorder=0)
        bare(plot)
    plots[-1].set_xlabel("minutes; dots are the times of rows; numbers are the rows in a window")
    return figure


def rows_in(window: transom.Window) -> list[tuple[model.Window, int]]:
    """The windows over the lifetimes of the rows, each with the number of its rows."""
    minute = timedelta(minutes=1) // timedelta(microseconds=1)
    rows = [
        lifetime_model.Lived(number, "a", start * minute, end * minute)
        for number, (start, end) in enumerate(LIFETIMES)
    ]
    fired = lifetime_model.Windows(window, rows, drained=True).fired
    return sorted(((w.start // minute, w.end // minute), len(w.rows)) for w in fired)


def _lanes(spans: list[model.Window]) -> list[int]:
    """The level of each window in the picture. Windows that overlap have different levels."""
    ends: list[int] = []
    lanes = []
    for start, end in spans:
        lane = next((i for i, taken in enumerate(ends) if taken <= start), len(ends))
        ends[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


DRAWN = (windows, watermark, partly_late, slices, sessions, lifetimes, rules, partitions)


def main(folder: Path = HERE) -> None:
    """Write one SVG for each picture. The bytes are the same each time."""
    with mpl.rc_context(STYLE):
        for draw in DRAWN:
            path = folder / f"{draw.__name__}.svg"
            draw().savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")


if __name__ == "__main__":
    main()
