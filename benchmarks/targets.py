"""The targets of transom's speed, and the figures that reach or miss them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.reading import Lines, Taken, lines, newest
from benchmarks.record import Record

# The least ratio of each peer's time to transom's.
PYTHON = {"python": 20.0}
AT_LEAST: dict[str, dict[str, float]] = {
    "tumbling-10k": {"native": 1.6, "flink-heap": 1.5, "flink-rocksdb": 1.5, **PYTHON},
    "tumbling-1m": {"native": 5.0, "flink-heap": 2.0, "flink-rocksdb": 3.0, **PYTHON},
    "hopping-60-6": {"native": 3.0, "flink-heap": 1.8, "flink-rocksdb": 2.0, **PYTHON},
    "hopping-60-1": {"native": 10.0, "flink-heap": 6.0, "flink-rocksdb": 10.0, **PYTHON},
    "session-10k": {"native": 2.0, "flink-heap": 3.0, "flink-rocksdb": 10.0, **PYTHON},
    "session-1m": {"native": 4.0, "flink-heap": 2.0, "flink-rocksdb": 4.0, **PYTHON},
}
# The largest ratio of transom's time to the time of Spark's batch query.
BATCH_AT_MOST = {"tumbling-10k": 2.0, "tumbling-1m": 1.5}
COLUMNS = ("native", "flink-heap", "flink-rocksdb", "batch", "python")
Per = Literal["input", "input or result"]
# The first value, the last value, and the limit of the growth between them. The growth is the cost
# of a row at the last value, divided by the cost at the first. Results grow with the number of
# keys, up to one for each row. So result rows count there too.
GROWTH_AT_MOST: dict[str, tuple[int, int, float, Per]] = {
    "keys": (10_000, 10_000_000, 1.5, "input or result"),
    "overlap": (6, 600, 1.2, "input"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One target and its figure.

    Attributes
    ----------
    target : str
        The target, such as ``≥ 1.6``.
    figure : float or None
        The measured ratio.
    reached : bool or None
        Whether the figure reaches the target. None without a figure.
    why : str
        The reason why there is no figure.
    fewer_rows : str
        The rows of both peers, if the peer had fewer rows than transom.
    job_figure, job_reached : float or None, bool or None
        The same with the time of Flink's job alone, without the start of its cluster.
    """

    target: str
    figure: float | None
    reached: bool | None
    why: str = "not measured"
    fewer_rows: str = ""
    job_figure: float | None = None
    job_reached: bool | None = None


def table(records: Sequence[Record]) -> dict[str, dict[str, Cell]]:
    """Return the targets and their figures, by query and peer."""
    found = newest(records)
    cells: dict[str, dict[str, Cell]] = {}
    for query, ratios in AT_LEAST.items():
        taken = found.get(query, {})
        cells[query] = {peer: _at_least(taken.get(peer), ratio) for peer, ratio in ratios.items()}
        if query in BATCH_AT_MOST:
            cells[query]["batch"] = _at_most(taken.get("batch"), BATCH_AT_MOST[query])
    return cells


def _at_least(taken: Taken | None, ratio: float) -> Cell:
    figure = taken.ratio if taken else None
    job = taken.job_ratio if taken else None
    return Cell(
        target=f"≥ {ratio:g}",
        figure=figure,
        reached=None if figure is None else figure >= ratio,
        why=_why(taken),
        fewer_rows=_fewer_rows(taken),
        job_figure=job,
        job_reached=None if job is None else job >= ratio,
    )


def _fewer_rows(taken: Taken | None) -> str:
    ours = taken.ours if taken else None
    if taken is None or ours is None or taken.measurement.rows == ours.rows:
        return ""
    return f" ({taken.measurement.rows:,} rows against transom's {ours.rows:,})"


def _at_most(taken: Taken | None, times: float) -> Cell:
    ratio = taken.ratio if taken else None
    figure = None if ratio is None else 1 / ratio
    reached = None if figure is None else figure <= times
    return Cell(target=f"≤ {times:g} times", figure=figure, reached=reached, why=_why(taken))


def _why(taken: Taken | None) -> str:
    if taken is None:
        return "not measured"
    if taken.measurement.failed:
        return _failed(taken)
    return "transom has no time or other results"


def _failed(taken: Taken) -> str:
    limit, ours = taken.measurement.given_up_after, taken.ours
    if limit is None or ours is None:
        return "did not finish"
    times = limit / ours.seconds * (ours.rows / taken.measurement.rows)
    return f"given up after {limit:.0f} s, {times:.1f} times transom's"


def growth(records: Sequence[Record]) -> dict[str, Cell]:
    """Return the growth of the cost of a row, for lines that have the first and the last value."""
    cells = {}
    for variable, (first, last, times, per) in GROWTH_AT_MOST.items():
        for line in lines(records, variable):
            if {first, last} <= line.points["transom"].keys():
                before, after = (micros_above(line, value, per) for value in (first, last))
                # A difference that is not above 0 is noise, and has no ratio.
                figure = after / before if after is not None and before and before > 0 else None
                cells[f"{line.name}, from {first:,} to {last:,}, a row of {per}"] = Cell(
                    target=f"≤ {times:g} times",
                    figure=figure,
                    reached=None if figure is None else figure <= times,
                    why="the same record has no faster pass-through",
                )
    return cells


def micros_above(line: Lines, value: int, per: Per) -> float | None:
    """Return the cost of a row above the pass-through, in microseconds, at one parameter value.

    The pass-through contains start-up, reading and the exchange by key, so the difference is the
    cost of windows. None where the record has no pass-through for the same input.
    """
    ours = line.points["transom"].get(value)
    limit = line.points.get("pass-through", {}).get(value)
    if ours is None or limit is None or limit.rows != ours.rows:
        return None
    results = (ours.result_rows or 0) if per == "input or result" else 0
    return (ours.seconds - limit.seconds) * 1e6 / (ours.rows + results)
