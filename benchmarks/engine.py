"""Keeps what JMH says of the engine: ``make bench-engine`` runs it and hands over its file.

``python -m benchmarks.engine FILE`` with the JSON of JMH's, taken with its allocation profiler.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.record import Measurement, Record

ALLOCATED = ("gc.alloc.rate.norm", "·gc.alloc.rate.norm")


def measurement(given: dict[str, Any]) -> Measurement:
    """One benchmark of JMH's, with one choice of its parameters."""
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
            # Of a single iteration there is none, and JMH writes a text.
            "error": float(metric["scoreError"]),
            "alloc_bytes_per_op": next(
                profiled[name]["score"] for name in ALLOCATED if name in profiled
            ),
        },
    )


def main() -> None:
    """Write a record of them."""
    given = json.loads(Path(sys.argv[1]).read_text())
    record = Record.begin(jmh=given[0]["jmhVersion"])
    record.measurements.extend(measurement(one) for one in given)
    print(record.save())


if __name__ == "__main__":
    main()
