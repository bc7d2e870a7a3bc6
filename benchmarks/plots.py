"""Draws the pictures of the page on performance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.reading import LIMITS, Lines, Taken
from benchmarks.record import Measurement

COLORS = {
    "transom": "#4269d0",
    "transom-keyed": "#97bbf5",
    "transom-policy": "#2a9d8f",
    "event-time": "#7f9ede",
    "one-watermark": "#b7c9ee",
    "one-minute": "#8fb8a8",
    "three-queries": "#5b8c7a",
    "native": "#ff725c",
    "applyInPandas": "#ff8ab7",
    "python": "#6cc5b0",
    "flink-heap": "#efb118",
    "flink-rocksdb": "#9c6b4e",
    "flink-over-heap": "#f6d27a",
    "flink-over-rocksdb": "#c4a58f",
    "pyflink": "#a463f2",
    "pass-through": "#9aa5b1",
    "read-only": "#c0c7cf",
    "batch": "#5c6670",
}
STYLE: dict[Any, Any] = {"svg.hashsalt": "transom", "svg.fonttype": "none", "font.size": 9}
WIDTH = 8.5


def save(figure: Figure, file: Path) -> None:
    """Write a picture. The same figures give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None, "Creator": None}, facecolor="white")


def ratios(found: Mapping[str, Mapping[str, Taken]]) -> Figure:
    """Draw the ratio of each peer's time to transom's, query by query."""
    known = {
        name: {
            peer: ratio
            for peer, taken in peers.items()
            if peer != "transom" and (ratio := taken.ratio) is not None
        }
        for name, peers in found.items()
    }
    figure = _by_query(known, 1)
    figure.axes[0].set_xscale("log")
    _readable(figure.axes[0].xaxis)
    figure.axes[0].set_xlabel("time divided by transom's in the same record: left of 1 is faster")
    return figure


def cores(speedups: Mapping[str, Mapping[str, float]], most: int) -> Figure:
    """Draw the speedup of each peer on more cores, query by query."""
    figure = _by_query(speedups, most)
    label = f"time on 1 core, divided by the time on {most}; the line is at {most}"
    figure.axes[0].set_xlabel(label)
    return figure


def _by_query(values: Mapping[str, Mapping[str, float]], line: float) -> Figure:
    """Draw a row for each query, a dot for each peer, and a vertical line."""
    names = [name for name, peers in values.items() if peers][::-1]
    shown = {peer for name in names for peer in values[name]}
    figure = _figure(max(2.2, 0.24 * len(names) + 0.9))
    plot = figure.subplots()
    peers = [peer for peer in COLORS if peer in shown]
    for peer in peers:
        dots = [(values[name][peer], at) for at, name in enumerate(names) if peer in values[name]]
        plot.plot(*zip(*dots, strict=True), "o", color=_color(peer), markersize=5)
    plot.axvline(line, color=COLORS["transom"], linewidth=1.2)
    plot.set_yticks(range(len(names)), names)
    plot.set_ylim(-0.6, len(names) - 0.4)
    plot.grid(axis="x", linewidth=0.4)
    _legend(plot, peers)
    return figure


def growth(line: Lines) -> Figure:
    """Draw the seconds for a million rows over a parameter, with a straight line."""
    figure = _figure(3.4)
    plot = figure.subplots()
    for peer, points in line.points.items():
        _line(plot, peer, [(value, _per_million(one)) for value, one in points.items()])
    value, one = next(iter(line.points["transom"].items()))
    values = sorted({value for points in line.points.values() for value in points})
    _straight(plot, [(x, _per_million(one) * x / value) for x in values])
    _logarithmic(plot, values)
    plot.set_ylim(top=3 * max(_per_million(m) for p in line.points.values() for m in p.values()))
    plot.set_xlabel(line.name)
    plot.set_ylabel("seconds per million rows")
    _legend(plot, list(line.points))
    return figure


def batches(points: Mapping[str, Mapping[int, float]], label: str) -> Figure:
    """Draw the time of a batch of each peer over a parameter, with a straight line."""
    figure = _figure(3.2)
    plot = figure.subplots()
    for peer, line in points.items():
        _line(plot, peer, list(line.items()))
    values = sorted({value for line in points.values() for value in line})
    first, cost = min(next(iter(points.values())).items())
    _straight(plot, [(value, cost * value / first) for value in values])
    _logarithmic(plot, values)
    plot.set_ylim(top=3 * max(cost for line in points.values() for cost in line.values()))
    plot.set_xlabel(label)
    plot.set_ylabel("milliseconds a batch")
    _legend(plot, list(points))
    return figure


def latencies(found: Mapping[str, Mapping[str, Taken]]) -> Figure:
    """Draw the time from a window's end to its result: the 50th and the 99th percentile."""
    measured = [
        (f"{name.removeprefix('latency/')}, {peer}", peer, taken.measurement.figures)
        for name, peers in found.items()
        for peer, taken in peers.items()
        if taken.measurement.figures
    ]
    figure = _figure(0.4 * len(measured) + 1.0)
    plot = figure.subplots()
    for place, (_, peer, figures) in enumerate(reversed(measured)):
        color = _color(peer)
        plot.plot([figures["p50_ms"], figures["p99_ms"]], [place, place], color=color, linewidth=2)
        plot.scatter(figures["p50_ms"], place, color=color, s=30)
        plot.scatter(figures["p99_ms"], place, color="white", edgecolor=color, s=30, zorder=3)
    plot.set_yticks(range(len(measured)), [label for label, *_ in reversed(measured)])
    plot.set_ylim(-0.6, len(measured) - 0.4)
    plot.set_xlim(left=0)
    plot.set_xlabel("milliseconds from a window's end to its result: p50 filled, p99 hollow")
    return figure


def _figure(height: float) -> Figure:
    return Figure(figsize=(WIDTH, height), layout="constrained")


def _per_million(measurement: Measurement) -> float:
    return measurement.seconds * 1e6 / measurement.rows


def _color(peer: str) -> str:
    return COLORS.get(peer, "black")


def _line(plot: Axes, peer: str, points: Sequence[tuple[int, float]]) -> None:
    style = ":" if peer in LIMITS else "-"
    plot.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color=_color(peer))


def _straight(plot: Axes, points: Sequence[tuple[int, float]]) -> None:
    plot.plot(*zip(*points, strict=True), "--", color="black", linewidth=0.8)


def _logarithmic(plot: Axes, values: Sequence[int]) -> None:
    plot.set_xscale("log")
    plot.set_yscale("log")
    plot.set_xticks(values, [f"{value:,}" for value in values])
    plot.minorticks_off()
    _readable(plot.yaxis)


def _readable(axis: Axis) -> None:
    """Label an axis with numbers without exponents."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _legend(plot: Axes, peers: Sequence[str]) -> None:
    for peer in peers:
        style = ":" if peer in LIMITS else "-"
        plot.plot([], [], style, marker="o", markersize=4, color=_color(peer), label=peer)
    if any(line.get_linestyle() == "--" for line in plot.lines):
        plot.plot([], [], "--", color="black", linewidth=0.8, label="straight line")
    plot.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
