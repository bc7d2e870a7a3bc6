"""Made-up records, for the tests of reports and comparisons."""

from typing import Any

from benchmarks.record import Measurement, Record, Run

MACHINE = {"name": "made-up", "cpu": "Made up", "cores": 2, "memory_bytes": 2**33, "system": "L"}


def measured(query: str, peer: str, *seconds: float, **more: Any) -> Measurement:
    runs = tuple(Run(seconds=one) for one in seconds)
    return Measurement(query=query, peer=peer, runs=runs, **{"rows": 1_000_000} | more)


def record(day: int, *measurements: Measurement) -> Record:
    return Record(
        taken=f"2030-01-{day:02}T10:00:00+00:00",
        commit=f"commit{day}",
        machine=MACHINE,
        versions={"spark": "4.2.0"},
        measurements=list(measurements),
    )
