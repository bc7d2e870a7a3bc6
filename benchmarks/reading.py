"""The measurements that reports show: the newest of each kind, and ratios within one record."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.record import Measurement, Record

LIMITS = ("pass-through", "read-only", "batch")
# Peers that are transom too, without or with what a benchmark measures the cost of.
OWN = ("transom-policy", "connect", "event-time", "one-watermark", "one-minute", "three-queries")
PEERS = (
    "transom",
    *OWN,
    *("native", "applyInPandas", "python", "flink-heap", "flink-rocksdb"),
    *("flink-over-heap", "flink-over-rocksdb", "pyflink"),
    *LIMITS,
)
# Prefixes of queries that have figures instead of timed runs.
FIGURES = ("latency/", "gaps/", "backlog/", "jmh/", "open-keys/", "state-age/")
VARIABLES = ("keys", "overlap", "gap_ms", "cores", "heap_gb")


def is_timed(measurement: Measurement) -> bool:
    """Return whether a measurement has times of whole runs."""
    return not measurement.query.startswith(FIGURES)


def natural(name: str) -> list[Any]:
    """Return a sort key for names, which compares numbers in them by value."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A measurement and its record."""

    measurement: Measurement
    record: Record

    @property
    def ours(self) -> Measurement | None:
        """The measurement of transom for the same query in the same record, if it has a time."""
        return timed(self.measurement.query, "transom", self.record)

    @property
    def ratio(self) -> float | None:
        """The peer's time for a row, divided by transom's time in the same record.

        None if one of them has no time, or if the results differ.
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


# Measurements by query and peer.
Found = Mapping[str, Mapping[str, Taken]]


def timed(query: str, peer: str, record: Record) -> Measurement | None:
    """Return a peer's measurement of a query, if it has a time and a result that is not empty."""
    found = record.find(query, peer)
    return found if found and found.runs and not is_empty(found) else None


def is_empty(measurement: Measurement) -> bool:
    """Return whether the peer returned no rows, so that its result was not compared."""
    return measurement.result_rows == 0


def differ(one: Measurement, other: Measurement) -> bool:
    """Return whether two measurements have different results for the same input."""
    known = one.rows == other.rows and None not in (one.digest, other.digest)
    return known and one.digest != other.digest


def newest(records: Sequence[Record]) -> dict[str, dict[str, Taken]]:
    """Return the newest measurement of each query and peer, without empty results."""
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
    """Return a sort key for peers."""
    return (PEERS.index(peer) if peer in PEERS else len(PEERS), peer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Measurements of queries that have one shape and differ in one parameter, from one record.

    Attributes
    ----------
    shape : str
        The parameter ``shape`` of the queries, or the name of the query.
    variable : str
        Name of the parameter in which the queries differ.
    points : dict
        The measurements by peer, and by ascending value of the parameter.
    """

    shape: str
    variable: str
    record: Record
    points: dict[str, dict[int, Measurement]]

    @property
    def name(self) -> str:
        """The shape, the variable, and the parameters that the queries share."""
        parameters = next(iter(self.points["transom"].values())).parameters
        fixed = [
            f"{name.replace('_', ' ')} {parameters[name]:,}"
            for name in VARIABLES
            if name != self.variable and name in parameters
        ]
        return ", ".join([f"{self.shape} by {self.variable.replace('_', ' ')}", *fixed])


def lines(records: Sequence[Record], variable: str) -> list[Lines]:
    """Return the lines of each shape over a parameter, each from one record.

    The record is the one with the most values of transom, and at least two. Among several it is the
    newest. So a few queries that are measured again do not replace a whole line.
    """
    found: dict[tuple[Any, ...], Lines] = {}
    for record in records:
        grouped: dict[tuple[Any, ...], dict[str, dict[int, Measurement]]] = {}
        for one in record.measurements:
            if one.runs and variable in one.parameters:
                # The name contains the number of cores if it is not the default.
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
