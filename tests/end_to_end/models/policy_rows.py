"""Generated rows under generated time policies, and what the reference model makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from tests.end_to_end.models.policies import SECOND, Sources, seconds
from tests.end_to_end.models.streams import EPOCH
from tests.time_model import stamping

SOURCES: list[Sources] = ["all rows", "partitions", "substreams"]
# Number, key, the seconds of its time and arrival, and the partition or substream.
Input = tuple[int, str, int, int, str]
# The columns of `timed`.
SCHEMA = "n int, key string, at timestamp, known timestamp, source string"


@st.composite
def judged(draw: st.DrawFn) -> tuple[list[Input], stamping.TimePolicy]:
    """Rows of 1 to 4 partitions, and a policy that may know the partitions before their rows."""
    # Hypothesis tries the first of several choices first.
    partitions = draw(st.sampled_from([3, 1, 4, 2]))
    return draw(inputs(partitions)), draw(policies(partitions))


@st.composite
def policies(draw: st.DrawFn, partitions: int = 3) -> stamping.TimePolicy:
    """Policies with any rules, which may know a number of partitions."""
    bounds = st.integers(0, 12).map(lambda count: count * SECOND)

    def rule(*actions: Any) -> stamping.Bound:
        return stamping.Bound(draw(st.sampled_from(actions)), draw(bounds))

    late = draw(st.none() | st.just(rule("drop", "adjust")))
    known = draw(st.sampled_from([(), names(partitions)]))
    return stamping.TimePolicy(
        out_of_order=rule("accept", "drop", "adjust"),
        early=draw(st.none() | st.just(rule("drop", "adjust"))),
        late=late,
        rows=draw(st.sampled_from([1, 1, 3])),
        floor="none" if late is None else "arrival",
        partitions=known,
    )


@st.composite
def inputs(draw: st.DrawFn, partitions: int) -> list[Input]:
    """Rows that come in order of arrival, then of their partition, with times around arrival."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("ab"),
                st.integers(-15, 8),
                st.integers(0, 4),
                st.sampled_from(names(partitions)),
            ),
            min_size=2,
            max_size=40,
        )
    )
    arrivals = accumulate((wait for _, _, wait, _ in rows), initial=100)
    timed = [
        (arrival, source, key, arrival + ahead)
        for arrival, (key, ahead, _, source) in zip(arrivals, rows, strict=False)
    ]
    in_order = sorted(timed, key=lambda row: row[:2])
    return [(n, key, at, arrival, source) for n, (arrival, source, key, at) in enumerate(in_order)]


def names(partitions: int) -> tuple[str, ...]:
    """The names of a number of partitions or substreams."""
    return tuple("0123"[:partitions])


def timed(rows: Sequence[Input]) -> list[tuple[Any, ...]]:
    """The rows with timestamps."""
    return [
        (n, key, EPOCH + seconds(at), EPOCH + seconds(known), source)
        for n, key, at, known, source in rows
    ]


def stamped(
    rows: Sequence[Input],
    policy: stamping.TimePolicy,
    sources: Sources,
    *,
    ends: Sequence[int | None] | None = None,
    punctuation: frozenset[int] = frozenset(),
) -> list[stamping.Stamp]:
    """What the model does with each row.

    ``ends`` are the ends of their lifetimes, and ``punctuation`` the numbers of punctuation rows.
    """
    until = ends or [None] * len(rows)
    events = [
        stamping.Row(
            at * SECOND,
            known * SECOND,
            partition=source if sources == "partitions" else "",
            substream=source if sources == "substreams" else None,
            key=key_of(key, source, sources),
            punctuation=n in punctuation,
            end=end,
        )
        for (n, key, at, known, source), end in zip(rows, until, strict=True)
    ]
    policy = replace(
        policy,
        by_substream=sources == "substreams",
        partitions=policy.partitions if sources == "partitions" else (),
    )
    return stamping.stamps(events, policy)


def key_of(key: str, source: str, sources: Sources) -> str:
    """The key of a row. With substreams, each key belongs to one of them."""
    return key + source if sources == "substreams" else key
