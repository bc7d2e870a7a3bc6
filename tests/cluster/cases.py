"""The queries that `make test-cluster-all` disturbs, their disturbances, and the table."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cluster.runs import Case
from tests.cluster.sweep import Report
from tests.end_to_end.restarts.crashes.kinds import KINDS

# The names in the table. There is a query for each kind of state, of policies and of side outputs.
NAMES = {
    "hopping": "hopping windows",
    "sessions": "sessions",
    "early": "early trigger",
    "evictor": "an evictor",
    "functions": "functions with state",
    "scan": "`scan`",
    "udaf": "aggregates in Python",
    "lifetimes": "lifetimes, `Snapshot`",
    "chain": "windows over results of windows",
    "several": "several windows on grids",
    "late-rows": "late rows",
    "policy": "hopping windows over a `TimePolicy`",
    "policy-dead-letters": "late rows and dead letters over a `TimePolicy`",
    "policy-partitions": "hopping windows over a `TimePolicy` with partitions",
    "policy-substreams": "hopping windows over a `TimePolicy` with substreams",
    "policy-idle": "the idle timeout over a `TimePolicy`",
    "policy-top": "lifetimes over a `TimePolicy`, `top`",
    "stamped": "`stamped()` with substreams",
    "native": "Spark's `window()`, hopping",
}
CASES = [Case(kind, is_shuffled) for kind in NAMES for is_shuffled in (False, True)]
_WORDS = {
    "halt": "kill",
    "lose": "lost shuffle",
    "stall": "slow task",
    "leave": "leave and join",
    "driver": "killed driver",
}
# What disturbs a case besides a kill and a lost shuffle. An odd number of them, so that each meets
# cases with and without a shuffle.
_OTHERS = ("stall", "leave", "stall", "leave", "driver")


def other(case: Case) -> str:
    """What disturbs a case besides a kill and a lost shuffle."""
    return _OTHERS[CASES.index(case) % len(_OTHERS)]


def actions(case: Case) -> dict[int, str]:
    """What disturbs each of the first batches of a case. The order differs from case to case."""
    # The driver is killed in a run of its own.
    third = other(case).replace("driver", "halt")
    found = ["lose", "halt", third]
    first = CASES.index(case) % len(found)
    return dict(enumerate(found[first:] + found[:first]))


def table(reports: Sequence[Report]) -> str:
    """The table in Markdown, with a row for each case."""
    lines = [
        "| query | state | a shuffle below | disturbances | runs | identical | Spark's own |",
        "|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        cells = [first_cells(report.case), str(report.tried), str(report.identical)]
        lines.append("| " + " | ".join([*cells, str(report.of_spark or "")]) + " |")
    return "\n".join(lines)


def first_cells(case: Case) -> str:
    """The cells of a case that do not depend on its runs."""
    kind = KINDS[case.kind]
    layout = {"slices": "slice log", "sessions": "session log", "keyed": "keyed layout"}
    shuffled = "yes" if case.is_shuffled else "no"
    ways = dict.fromkeys([*sorted(actions(case).values()), other(case)])
    words = ", ".join(_WORDS[way] for way in ways)
    return " | ".join([NAMES[case.kind], layout.get(kind.layout, kind.layout), shuffled, words])
