"""The queries, described once as data. Each peer translates them into its own API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

import transom
from benchmarks.queries.data import MAX_LATENESS_MICROS, PARTITIONS, Input

TOTALS = {"n": "count(*)", "s": "sum(v)"}
# The windows of ``several-windows``, by their ids.
SEVERAL = {
    "minute": transom.Tumbling(size="1 minute"),
    "five-minutes": transom.Tumbling(size="5 minutes"),
    "hour": transom.Tumbling(size="1 hour"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query over one input, by key and window.

    Attributes
    ----------
    window : transom.Window
        The window. Rows are grouped by the window and by their key ``k``.
    keys : int
        Number of keys of the input.
    aggregates : dict
        SQL that every peer understands, by the name of its column.
    trigger : transom.Trigger or None
        The trigger. None fires a window once, when the watermark passes its end.
    lifetime : str or None
        How long each row lasts. None lets it last an instant.
    policy : transom.TimePolicy or None
        The time policy. The input then has arrivals. None takes Spark's watermark.
    function : bool
        Whether a function in Python computes the aggregates from all rows of a window.
    layout : {"auto", "keyed"}
        The layout of transom's state.
    long_keys, skewed, late_rows, even_values, small_batches : bool
        Properties of the input, see `Input`. With ``late_rows`` transom emits the late rows.
    hours : int or None
        Hours of event time of the input, whatever its number of rows, see `Input`.
    warmed_up : bool
        Whether each peer runs once before its timed run, in the same process. The time then
        contains no start-up. Only peers on Spark do this.
    row_limit : int or None
        The largest number of rows of a peer. If set, peers in Python get as many rows as the
        others. Otherwise they get a tenth.
    shape : str or None
        Name that is common to the queries of one line in a plot.
    bench : str, tuple of str or None
        The peer or peers that ``make bench`` compares transom with. None leaves the query out.
    """

    window: transom.Window
    keys: int = 10_000
    aggregates: dict[str, str] = field(default_factory=lambda: TOTALS)
    trigger: transom.Trigger | None = None
    lifetime: str | None = None
    policy: transom.TimePolicy | None = None
    function: bool = False
    layout: Literal["auto", "keyed"] = "auto"
    long_keys: bool = False
    skewed: bool = False
    late_rows: bool = False
    even_values: bool = False
    small_batches: bool = False
    hours: int | None = None
    warmed_up: bool = False
    row_limit: int | None = None
    shape: str | None = None
    bench: str | tuple[str, ...] | None = None

    def input(self, rows: int, files_per_batch: int) -> Input:
        """Return the input of the query with a number of rows."""
        return Input(
            rows=rows,
            keys=self.keys,
            long_keys=self.long_keys,
            skewed=self.skewed,
            late=self.late_rows,
            even_values=self.even_values,
            small_batches=self.small_batches,
            arrivals=self.policy is not None,
            hours=self.hours,
            files_per_batch=files_per_batch,
        )

    @property
    def compared(self) -> tuple[str, ...]:
        """The peers that ``make bench`` compares transom with."""
        return (self.bench,) if isinstance(self.bench, str) else self.bench or ()

    @property
    def windows(self) -> Mapping[str, transom.Window]:
        """The windows that are computed in one pass, by their ids. Empty for a single window."""
        window = self.window
        if isinstance(window, transom.Windows) and isinstance(window.windows, Mapping):
            return window.windows
        return {}

    @property
    def plain(self) -> bool:
        """Whether Spark has this window, with one result at its end. Flink has it too."""
        has_window = isinstance(self.window, transom.Tumbling | transom.Hopping | transom.Session)
        is_usual = self.trigger is None and self.lifetime is None
        return has_window and is_usual and not self.function

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a measurement, for plots and reports. Lengths are in milliseconds."""
        lengths = {
            f"{name}_ms": micros(length) // 1000
            for name in ("size", "slide", "gap")
            if (length := getattr(self.window, name, None)) is not None
        }
        slide = lengths.get("slide_ms")
        overlap = {"overlap": lengths["size_ms"] // slide} if slide else {}
        kind = type(self.window).__name__.lower()
        shape = {"shape": self.shape} if self.shape else {}
        clocks = {} if self.policy is None else {"watermarks": self._watermarks(self.policy)}
        return {"window": kind, "keys": self.keys, **shape, **lengths, **overlap, **clocks}

    def _watermarks(self, policy: transom.TimePolicy) -> int:
        return PARTITIONS if policy.partition else self.keys if policy.over else 1


def micros(length: Any) -> int:
    """Return the microseconds of a length, which windows hold as a timedelta."""
    whole: int = length // timedelta(microseconds=1)
    return whole


def _tumbling(**special: Any) -> Query:
    return Query(window=transom.Tumbling(size="10 seconds"), **special)


def _hopping(slide: str, **special: Any) -> Query:
    return Query(window=transom.Hopping(size="60 seconds", slide=slide), **special)


def _policy(**watermarks: Any) -> transom.TimePolicy:
    """Return a policy with all rules. The input breaks none, so each peer has the same results."""
    latest = timedelta(microseconds=MAX_LATENESS_MICROS)
    return transom.TimePolicy(
        "ts",
        arrival="a",
        early=transom.Drop("1 minute"),
        late=transom.Drop(latest),
        out_of_order=transom.Drop(latest),
        **watermarks,
    )


def _time_stages() -> dict[str, Query]:
    ids = [str(partition) for partition in range(PARTITIONS)]
    by_partition = _policy(partition="p", partitions=ids)
    by_key = _policy(over=["k"])
    return {
        "time-stage": _tumbling(policy=_policy(), bench="event-time"),
        "time-stage-partitions": _tumbling(policy=by_partition, bench="event-time"),
        "substreams": _tumbling(policy=by_key, keys=100_000, bench="one-watermark"),
    }


def _session(gap: str = "2 seconds", **special: Any) -> Query:
    return Query(window=transom.Session(gap=gap), **special)


QUERIES = {
    "tumbling-10k": _tumbling(bench=("native", "connect"), shape="tumbling"),
    "tumbling-1m": _tumbling(keys=1_000_000, bench="native", shape="tumbling"),
    "hopping-60-6": _hopping("6 seconds", bench="native"),
    "hopping-60-1": _hopping("1 second", bench="native"),
    "session-10k": _session(bench="native", shape="session"),
    "session-1m": _session(keys=1_000_000, bench="native", shape="session"),
    "tumbling-keyed": _tumbling(layout="keyed", bench="native"),
    "session-early": _session(trigger=transom.Every("1 second"), bench="python"),
    # Each key has about a thousand rows, so each emits about ten results.
    "count-100": Query(
        window=transom.Global(),
        trigger=transom.AfterCount(100),
        keys=1_000,
        even_values=True,
        row_limit=1_000_000,
        bench="python",
    ),
    # Two results for each row: when it arrives, and when it leaves.
    "rolling": Query(window=transom.Rolling("60 seconds"), bench="python"),
    # A key has a result for each second of the lifetimes, however few rows it has.
    "lifetimes-1s": _hopping("1 second", lifetime="1 second", row_limit=200_000),
    "lifetimes-1h": _hopping("1 second", lifetime="1 hour", row_limit=200_000),
    "several-windows": Query(
        window=transom.Windows(SEVERAL),
        hours=6,
        warmed_up=True,
        bench=("one-minute", "three-queries"),
    ),
    "session-function": _session(function=True, row_limit=1_000_000, bench="applyInPandas"),
    "tumbling-1k": _tumbling(keys=1_000, shape="tumbling"),
    "tumbling-100k": _tumbling(keys=100_000, shape="tumbling"),
    "tumbling-10m": _tumbling(keys=10_000_000, shape="tumbling"),
    # With fewer keys, because each key has up to ten results a second.
    "overlap-1": _hopping("60 seconds", keys=1_000, shape="overlap"),
    "overlap-6": _hopping("10 seconds", keys=1_000, shape="overlap"),
    "overlap-60": _hopping("1 second", keys=1_000, shape="overlap"),
    "overlap-600": _hopping("100 milliseconds", keys=1_000, shape="overlap"),
    "session-short": _session("500 milliseconds", shape="gap"),
    "session-long": _session("5 seconds", shape="gap"),
    "small-batches": Query(
        window=transom.Tumbling(size="1 hour"), keys=1_000_000, small_batches=True
    ),
    "late-rows": _tumbling(late_rows=True),
    "several-aggregates": _tumbling(
        aggregates=TOTALS | {"least": "min(v)", "most": "max(v)", "mean": "avg(v)"}
    ),
    "long-keys": _tumbling(long_keys=True),
    "skewed-key": _tumbling(skewed=True),
    **_time_stages(),
}
