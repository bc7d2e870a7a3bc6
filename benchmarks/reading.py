"""What reports show of all records: the newest of everything, and ratios within one record."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.record import Measurement, Record

LIMITS = ("pass-through", "batch")
PEERS = (
    *("transom", "native", "applyInPandas", "python", "flink-heap", "flink-rocksdb", "pyflink"),
    *LIMITS,
)
# What has no runs to be timed, but figures.
FIGURES = ("latency/", "jmh/", "open-keys/", "state-age/")
VARIABLES = ("keys", "overlap", "gap_ms", "cores", "heap_gb")


def is_timed(measurement: Measurement) -> bool:
    """Whether whole runs of it are timed."""
    return not measurement.query.startswith(FIGURES)


def natural(name: str) -> list[Any]:
    """To sort names by, numbers in them by what they are."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A measurement, and the record that it is from."""

    measurement: Measurement
    record: Record

    @property
    def ours(self) -> Measurement | None:
        """What transom took for the same in the same record, if it is there with a time."""
        return timed(self.measurement.query, "transom", self.record)

    @property
    def ratio(self) -> float | None:
        """How many times as long as transom it took for a row, in the same record.

        None where either has no time, or where the results are not the same.
        """
        theirs, ours = self.measurement, self.ours
        if ours is None or not theirs.runs or differ(theirs, ours):
            return None
        return theirs.seconds / ours.seconds * (ours.rows / theirs.rows)

    @property
    def job_ratio(self) -> float | None:
        """The ratio with the time of Flink's job alone, if that time is known."""
        job, whole = self.measurement.job_seconds, self.ratio
        return None if job is None or whole is None else whole * job / self.measurement.seconds


# By query and peer.
Found = Mapping[str, Mapping[str, Taken]]


def timed(query: str, peer: str, record: Record) -> Measurement | None:
    """What a peer took for a query, if it is there with a time and not with an empty result."""
    found = record.find(query, peer)
    return found if found and found.runs and not is_empty(found) else None


def is_empty(measurement: Measurement) -> bool:
    """Whether the peer returned no rows, so that its result was compared with nothing."""
    return measurement.result_rows == 0


def differ(one: Measurement, other: Measurement) -> bool:
    """Whether the same input gave results that are not the same."""
    known = one.rows == other.rows and None not in (one.digest, other.digest)
    return known and one.digest != other.digest


def newest(records: Sequence[Record]) -> dict[str, dict[str, Taken]]:
    """By query and peer, in their order, the newest measurement, but none of an empty result."""
    found: dict[str, dict[str, Taken]] = {}
    for record in records:
        for one in record.measurements:
            if is_empty(one):
                continue
            taken = Taken(measurement=one, record=record)
            found.setdefault(one.query, {})[one.peer] = taken
    return {
        name: dict(sorted(found[name].items(), key=lambda of: place(of[0])))
        for name in sorted(found, key=natural)
    }


def place(peer: str) -> tuple[int, str]:
    """To sort peers by."""
    return (PEERS.index(peer) if peer in PEERS else len(PEERS), peer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Queries of one shape that differ in one parameter, of one record.

    Attributes
    ----------
    shape : str
        What they have in common.
    variable : str
        The parameter.
    points : dict
        By peer, what was measured at each value, in their order.
    """

    shape: str
    variable: str
    record: Record
    points: dict[str, dict[int, Measurement]]

    @property
    def name(self) -> str:
        """Of which shape, by what, and what the queries have in common besides."""
        parameters = next(iter(self.points["transom"].values())).parameters
        fixed = [
            f"{name.replace('_', ' ')} {parameters[name]:,}"
            for name in VARIABLES
            if name != self.variable and name in parameters
        ]
        return ", ".join([f"{self.shape} by {self.variable.replace('_', ' ')}", *fixed])


def lines(records: Sequence[Record], variable: str) -> list[Lines]:
    """What grows with a parameter, of each shape, in one record.

    That is the one with the most values of transom, two at least, and the newest of several: a
    query or two that are measured again do not take the place of a whole line.
    """
    found: dict[tuple[Any, ...], Lines] = {}
    for record in records:
        grouped: dict[tuple[Any, ...], dict[str, dict[int, Measurement]]] = {}
        for one in record.measurements:
            if one.runs and variable in one.parameters:
                # A query on other than the usual cores has them in its name.
                alone = one.query.removesuffix(f"-{one.parameters.get('cores')}-core")
                shape = one.parameters.get("shape", alone)
                fixed = [one.parameters.get(name) for name in VARIABLES if name != variable]
                peers = grouped.setdefault((shape, *fixed), {})
                peers.setdefault(one.peer, {})[one.parameters[variable]] = one
        for about, peers in grouped.items():
            points = {
                peer: dict(sorted(peers[peer].items()))
                for peer in sorted(peers, key=place)
                if len(peers[peer]) > 1
            }
            values = len(points.get("transom", ()))
            if values and (about not in found or values >= len(found[about].points["transom"])):
                found[about] = Lines(
                    shape=about[0], variable=variable, record=record, points=points
                )
    return [found[about] for about in sorted(found, key=str)]
