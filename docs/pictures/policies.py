"""The pictures about time policies, computed by the model of their rules."""

from typing import Any

from matplotlib.figure import Figure

from docs.pictures.shapes import BLUE, GREY, RED, SAND
from tests.time_model.stamping import Bound, Event, Row, Stamp, Tick, TimePolicy, stamps

# The example of the page on time policies: time and arrival in minutes past the hour.
READINGS = [(10, 10), (14, 15), (30, 16), (9, 17), (5, 20), (20, 32)]
EARLY, LATE, DISORDER = 5, 10, 2

IDLE = 5
# Rows of two partitions, of which B is behind A and then silent. No row comes at the ticks.
OF_PARTITIONS: list[Event] = [
    Row(3, 1, "A"),
    Row(1, 2, "B"),
    Row(8, 3, "A"),
    Row(4, 4, "B"),
    Row(12, 5, "A"),
    Tick(6),
    Row(15, 7, "A"),
    Tick(9),
    Row(17, 10, "A"),
    Tick(11),
    Row(19, 12, "A"),
    Row(9, 13, "B"),
    Row(22, 14, "A"),
    Row(21, 15, "B"),
]


def rules() -> Figure:
    """Rows in the order of their arrival, and what the rules do with their times."""
    policy = TimePolicy(
        out_of_order=Bound("adjust", DISORDER),
        early=Bound("drop", EARLY),
        late=Bound("adjust", LATE),
        floor="arrival",
    )
    found = stamps([Row(time, arrival) for time, arrival in READINGS], policy)
    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    plot = figure.subplots()
    for place, (stamp, (time, arrival)) in enumerate(zip(found, READINGS, strict=True)):
        bounds = (arrival - LATE, arrival + EARLY)
        plot.fill_between([place - 0.4, place + 0.4], *bounds, color=SAND, linewidth=0)
        plot.plot([place - 0.4, place + 0.4], [arrival] * 2, color=GREY, linewidth=1)
        color = RED if stamp.disposition == "dropped" else "white"
        plot.scatter([place], [time], color=color, edgecolor="black", s=34, zorder=3)
        if stamp.time is not None:
            if stamp.time != time:
                arrow = {"arrowstyle": "->", "color": BLUE}
                plot.annotate("", (place, stamp.time), (place, time), arrowprops=arrow)
            plot.scatter([place], [stamp.time], color=BLUE, s=22, zorder=4)
        text = "\n".join([*stamp.rules, stamp.disposition])
        plot.text(place, 40.5, text, ha="center", va="bottom", fontsize=8)
    _steps(plot, [stamp.met for stamp in found], "black", "-", "watermark that a row meets")
    plot.scatter([], [], color="white", edgecolor="black", label="time of the row")
    plot.scatter([], [], color=BLUE, label="time in force")
    plot.scatter([], [], color=RED, label="dropped")
    plot.plot([], [], color=GREY, label="arrival")
    plot.fill_between([], [], [], color=SAND, label="from early to late")
    plot.legend(loc="lower center", fontsize=8, ncols=3)
    _finish(plot, len(found), (-13, 47))
    plot.set_yticks(range(0, 41, 10))
    plot.set_ylabel("event time in minutes")
    return figure


def partitions() -> Figure:
    """The watermarks of two partitions, and the least of them that windows follow."""
    policy = TimePolicy(out_of_order=Bound("accept", 0), partitions=("A", "B"), idle_partition=IDLE)
    found = stamps(OF_PARTITIONS, policy)
    figure = Figure(figsize=(8.5, 4.2), layout="constrained")
    plot = figure.subplots()
    for name, color in (("A", BLUE), ("B", RED)):
        own = [stamp.after.own.get((name, "")) for stamp in found]
        _steps(plot, own, color, ":", f"watermark of partition {name}")
        dots = [(place, row) for place, row in _rows(found) if row.partition == name]
        plot.scatter(*zip(*((place, row.time) for place, row in dots), strict=True), color=color)
    _steps(plot, [stamp.after.overall for stamp in found], "black", "-", "watermark of windows")
    for place, stamp in enumerate(found):
        if isinstance(stamp.event, Tick):
            plot.axvline(place, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
            plot.text(place, 24.5, "no rows", ha="center", fontsize=8)
    plot.legend(loc="lower right", fontsize=8, framealpha=1)
    _finish(plot, len(found), (-1, 26))
    plot.set_ylabel("event time in minutes; dots are rows")
    return figure


def _rows(found: list[Stamp]) -> list[tuple[int, Row]]:
    return [(place, s.event) for place, s in enumerate(found) if isinstance(s.event, Row)]


def _steps(plot: Any, levels: list[int | None], color: str, line: str, label: str) -> None:
    """Draw a level for each event. Events without a level have no line."""
    for place, level in enumerate(levels):
        if level is not None:
            span = [place - 0.45, place + 0.45]
            plot.plot(span, [level] * 2, line, color=color, linewidth=1.6, zorder=2)
    plot.plot([], [], line, color=color, label=label)


def _finish(plot: Any, events: int, limits: tuple[int, int]) -> None:
    plot.set_xlabel("order of arrival")
    plot.set_xlim(-0.6, events - 0.4)
    plot.set_ylim(*limits)
    plot.set_xticks([])
    plot.spines[["top", "right"]].set_visible(False)
