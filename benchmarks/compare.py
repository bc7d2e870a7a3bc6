"""Reports whether transom became slower from one record to the next: ``make bench-compare``.

Seconds of two days cannot be compared. The same code takes 10 % more or less time on a machine that
is warmer, or that runs other processes too. So transom's time is divided by the time of a limit in
the same record. The limits are the pass-through and Spark's batch query. Where no limit was
measured, Spark's own windows take its place. No commit of transom changes the limits, and they ran
in turn with transom on the same input. So a slower machine changes both times. For each query, the
last two records of this machine that have the query are compared.

A change counts if it exceeds 4 % and twice its noise, against each of the limits. A change against
a single limit is a change of the limit. The noise of a median is half of the difference between the
fastest and the slowest run. A change has four medians, and their noise adds up like independent
errors. The exit code is 1 if a query became slower.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reading import LIMITS, is_timed, natural, timed
from benchmarks.record import Record, machine, records

LEAST = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of transom's time against a peer's, from one record to the next.

    Attributes
    ----------
    query, peer : str
        Names of the query and of the peer.
    commits : tuple of str
        The commit before, and the commit after.
    share : float
        The additional time of transom, as a share. It is below 0 if transom became faster.
    noise : float
        Possible error of the share.
    """

    query: str
    peer: str
    commits: tuple[str, str]
    share: float
    noise: float

    @property
    def counts(self) -> bool:
        """Whether the change is more than noise."""
        return abs(self.share) > max(LEAST, 2 * self.noise)

    def __str__(self) -> str:
        before, after = self.commits
        moved = f"{self.share:+.1%}, noise {self.noise:.1%}"
        return f"{self.query} against {self.peer}: {moved}, {before} to {after}"


def changes(taken: Sequence[Record]) -> list[Change]:
    """Return the changes of all queries that two records have."""
    queries = {
        one.query
        for record in taken
        for one in record.measurements
        if one.peer == "transom" and is_timed(one)
    }
    found = []
    for query in sorted(queries, key=natural):
        limits = [_change(taken, query, peer) for peer in LIMITS]
        known = [change for change in limits if change]
        native = None if known else _change(taken, query, "native")
        found += [*known, *([native] if native else [])]
    return found


def _change(taken: Sequence[Record], query: str, peer: str) -> Change | None:
    pairs = [
        (ours, theirs, record.commit)
        for record in taken
        if (ours := timed(query, "transom", record)) and (theirs := timed(query, peer, record))
    ]
    if len(pairs) < 2:
        return None
    before, after = pairs[-2:]
    if before[0].rows != after[0].rows or before[1].rows != after[1].rows:
        return None
    return Change(
        query=query,
        peer=peer,
        commits=(before[2], after[2]),
        share=(after[0].seconds / after[1].seconds) / (before[0].seconds / before[1].seconds) - 1,
        noise=math.hypot(*(one.noise for one in (*before[:2], *after[:2]))),
    )


def slower(found: Sequence[Change]) -> list[str]:
    """Return the queries that became slower against all of their limits."""
    return [query for query in _names(found) if _all(found, query, sign=1)]


def faster(found: Sequence[Change]) -> list[str]:
    """Return the queries that became faster against all of their limits."""
    return [query for query in _names(found) if _all(found, query, sign=-1)]


def _names(found: Sequence[Change]) -> list[str]:
    return list(dict.fromkeys(change.query for change in found))


def _all(found: Sequence[Change], query: str, sign: int) -> bool:
    return all(c.counts and c.share * sign > 0 for c in found if c.query == query)


def main() -> None:
    """Compare the last two records of the machine on the command line, or of this machine."""
    name = sys.argv[1] if len(sys.argv) > 1 else machine()["name"]
    found = changes(records(name))
    for change in found:
        print(change)
    if not found:
        print(f"{name}: there are no two records to compare")
    for query in faster(found):
        print(f"faster: {query}")
    for query in slower(found):
        print(f"slower: {query}")
    sys.exit(1 if slower(found) else 0)


if __name__ == "__main__":
    main()
