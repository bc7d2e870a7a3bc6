"""Writes a record of the JMH scores of the engine: ``make bench-engine``.

``python -m benchmarks.engine FILE``. The file is the JSON that JMH writes, with its allocation
profiler.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.record import Measurement, Record

# The largest error of a score that can be compared, as a share of the score.
MOST_ERROR = 0.1
ALLOCATED = ("gc.alloc.rate.norm", "·gc.alloc.rate.norm")


def measurement(given: dict[str, Any]) -> Measurement:
    """Convert the score of a JMH benchmark with one choice of its parameters."""
    benchmark, method = given["benchmark"].split(".")[-2:]
    parameters = given.get("params", {})
    behind = f"({', '.join(parameters.values())})" if parameters else ""
    metric, profiled = given["primaryMetric"], given["secondaryMetrics"]
    return Measurement(
        query=f"jmh/{benchmark.removesuffix('Benchmark')}.{method}{behind}",
        peer="transom",
        rows=1,
        parameters={"unit": metric["scoreUnit"], **parameters},
        figures={
            "score": metric["score"],
            # A single iteration has no error, and JMH writes the text NaN.
            "error": float(metric["scoreError"]),
            "alloc_bytes_per_op": next(
                profiled[name]["score"] for name in ALLOCATED if name in profiled
            ),
        },
    )


def error_share(measurement: Measurement) -> float:
    """Return the error as a share of the score, or NaN after a single iteration."""
    return measurement.figures["error"] / measurement.figures["score"]


def is_noise(measurement: Measurement) -> bool:
    """Return whether the error is unknown, or too large for a comparison of the score."""
    return not error_share(measurement) <= MOST_ERROR


def main() -> None:
    """Write the record, and print the benchmarks that must run longer."""
    given = json.loads(Path(sys.argv[1]).read_text())
    record = Record.begin(jmh=given[0]["jmhVersion"])
    record.measurements.extend(measurement(one) for one in given)
    for one in filter(is_noise, record.measurements):
        print(f"{one.query}: noise, its error is {error_share(one):.0%} of its score")
    print(record.save())


if __name__ == "__main__":
    main()
