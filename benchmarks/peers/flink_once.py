"""Runs one query in Flink SQL once, in a process of its own, and prints its time as JSON.

``.venv-flink/bin/python -m benchmarks.peers.flink_once JOB``, where the job is JSON, made by
`benchmarks.peers.table`. It runs where PyFlink is and PySpark is not.
"""

import json
import sys
import time
from typing import Any

from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.peers.flink_source import environment, events, sink

# Flink's watermark W says that nothing at or before W is to come, Spark's that nothing before it.
WATERMARK = "`at` - INTERVAL '5.001' SECOND(1, 3)"


def main() -> None:
    """Run the job that the command line holds."""
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
    tables.execute_sql(f"CREATE TABLE results ({job['columns']}) {sink(job)}")
    started = time.perf_counter()
    running = tables.execute_sql(f"INSERT INTO results {job['select']}")
    running.wait()
    seconds = time.perf_counter() - started
    client = running.get_job_client()
    assert client is not None
    alone = client.get_job_execution_result().result().get_net_runtime() / 1000
    print(json.dumps({"seconds": seconds, "figures": {"job_seconds": alone}}))


if __name__ == "__main__":
    main()
