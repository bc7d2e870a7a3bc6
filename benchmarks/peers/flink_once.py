"""Runs one query in Flink SQL once, in its own process, and prints its time as JSON.

``.venv-flink/bin/python -m benchmarks.peers.flink_once JOB``. The job is JSON that
`benchmarks.peers.table` makes. The environment has PyFlink and lacks PySpark.
"""

import json
import sys
from typing import Any

from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.peers.flink_source import answer, environment, events

# With watermark W, Flink expects no row at or before W. Spark expects no row before W.
WATERMARK = "`at` - INTERVAL '5.001' SECOND(1, 3)"


def main() -> None:
    """Run the job on the command line."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    env = environment(job)
    tables = StreamTableEnvironment.create(env)
    schema = (
        Schema.new_builder()
        .column("k", job["reads"]["k"])
        .column("ts", "BIGINT")
        .column("v", "DOUBLE")
        .column_by_expression("at", "TO_TIMESTAMP_LTZ(ts / 1000, 3)")
        .watermark("at", WATERMARK)
    )
    tables.create_temporary_view("events", events(env, job), schema.build())
    print(json.dumps(answer(tables, job)))


if __name__ == "__main__":
    main()
