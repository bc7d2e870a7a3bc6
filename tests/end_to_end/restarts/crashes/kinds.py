"""The queries that crash: one for each kind of state, and Spark's own windows for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

import transom
from tests.end_to_end.restarts.crashes import (
    functions,
    policies,
    policy_lifetimes,
    queries,
)
from tests.end_to_end.restarts.crashes.comparisons import Comparison, exact, last, net, totals
from tests.end_to_end.restarts.crashes.queries import HALF_HOUR, HOPPING, SESSION, by_key, counted
from transom.spec import Layout

SCHEMA = "number int, key string, time timestamp, value int"


@dataclass(frozen=True)
class Kind:
    """A query, and the part of its output that does not depend on batch boundaries.

    Attributes
    ----------
    query : callable
        Builds the results from the streaming DataFrame of the input.
    compared : callable
        Returns the part of the written rows in which two runs must agree.
    layout : str
        The state layout, or "Spark" for Spark's own windows.
    drains : bool
        Whether the windows that are open at the end of the input fire.
    side : mapping of str to sequence of str
        The columns of each side output in which two runs must agree. With side outputs the rows are
        tagged, so that only `transom.route` can write them.
    """

    query: Callable[[DataFrame], DataFrame]
    compared: Comparison = exact
    layout: str = "keyed"
    drains: bool = True
    side: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _plain(window: transom.Window, layout: Layout, *, drain: bool = True) -> Kind:
    def query(rows: DataFrame) -> DataFrame:
        windowed = by_key(rows, window).options(layout=layout)
        return counted(windowed.drain() if drain else windowed)

    name = "sessions" if window is SESSION and layout == "slices" else layout
    return Kind(query, layout=name, drains=drain)


KINDS: dict[str, Kind] = {
    "hopping": _plain(HOPPING, "slices"),
    "hopping-open": _plain(HOPPING, "slices", drain=False),
    "hopping-keyed": _plain(HOPPING, "keyed"),
    "sessions": _plain(SESSION, "slices"),
    "sessions-open": _plain(SESSION, "slices", drain=False),
    "sessions-keyed": _plain(SESSION, "keyed"),
    "early": Kind(queries.early, last),
    "lateness": Kind(queries.lateness, last),
    "retraction": Kind(queries.retraction, net),
    "evictor": Kind(queries.evictor),
    "lifetimes": Kind(queries.lifetimes(transom.Snapshot()), drains=False),
    "lifetimes-hopping": Kind(queries.lifetimes(HOPPING), drains=False),
    "edges": Kind(queries.edges, drains=False),
    "rolling": Kind(queries.rolling),
    "several": Kind(queries.several({"half-hour": HALF_HOUR, "hopping": HOPPING}), layout="slices"),
    "several-kinds": Kind(queries.several({"half-hour": HALF_HOUR, "session": SESSION})),
    "count": Kind(queries.count),
    "processing-time": Kind(queries.wall_clock, totals),
    "chain": Kind(queries.chain, layout="slices"),
    # The watermark that a late row met depends on batches.
    "late-rows": Kind(queries.late_rows, layout="slices", side={"late": ["row", "missed_windows"]}),
    "functions": Kind(functions.called),
    "udaf": Kind(functions.udaf, layout="slices"),
    "scan": Kind(functions.scanned, drains=False),
    "policy": Kind(policies.policy(HOPPING), layout="slices", drains=False),
    "policy-sessions": Kind(policies.policy(SESSION), drains=False),
    "policy-partitions": Kind(
        policies.policy(HOPPING, partitions=3),
        layout="slices",
        drains=False,
    ),
    "policy-substreams": Kind(policies.policy(HOPPING, over=["key"]), drains=False),
    "policy-dead-letters": Kind(
        policies.dead_letters,
        layout="slices",
        drains=False,
        side={
            "late": ["row", "reason", "missed_windows", "watermark"],
            "dead_letters": ["row", "reason", "watermark"],
        },
    ),
    "policy-idle": Kind(policies.idle, layout="slices", drains=False),
    "policy-lateness": Kind(policies.lateness, drains=False),
    "policy-trigger": Kind(policies.trigger, drains=False),
    "policy-evictor": Kind(policies.evictor, drains=False),
    "policy-chain": Kind(policies.chain, layout="slices", drains=False),
    "policy-lifetimes": Kind(policy_lifetimes.over(transom.Snapshot()), drains=False),
    "policy-rolling": Kind(policy_lifetimes.rolling, drains=False),
    "policy-count-by-start": Kind(policy_lifetimes.over(transom.CountByStart(3)), drains=False),
    "policy-top": Kind(policy_lifetimes.top, drains=False),
    "policy-changes": Kind(policy_lifetimes.changes, drains=False),
    "policy-output": Kind(policy_lifetimes.output_policy, drains=False),
    "policy-udaf": Kind(policy_lifetimes.udaf, drains=False),
    "policy-apply": Kind(policy_lifetimes.called, drains=False),
    "punctuated": Kind(policies.punctuated, layout="slices", drains=False),
    "stamped": Kind(policies.stamped, layout="time stage", drains=False),
    "native": Kind(queries.native, layout="Spark", drains=False),
}
