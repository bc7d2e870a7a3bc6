"""Runs one query of Nexmark in Flink SQL once, in its own process, and prints its time as JSON.

``.venv-flink/bin/python -m benchmarks.nexmark.flink_once JOB``. The job is JSON that
`benchmarks.nexmark.peers` makes. The environment has PyFlink and lacks PySpark.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.peers.flink_source import answer, environment, events

# With watermark W, Flink expects no row at or before W. Spark expects no row before W.
WATERMARK = "`at` - INTERVAL '4.001' SECOND(1, 3)"


def from_files(
    env: StreamExecutionEnvironment,
    tables: StreamTableEnvironment,
    job: dict[str, Any],
    kind: str,
    columns: dict[str, str],
) -> None:
    """Make a table of the files of a kind of events. Their times are microseconds."""
    schema = Schema.new_builder()
    for name, type_ in columns.items():
        schema = schema.column(name, type_)
    schema = (
        schema.column_by_expression("at", "TO_TIMESTAMP_LTZ(date_time / 1000, 3)")
        .column_by_expression("clock", "PROCTIME()")
        .watermark("at", WATERMARK)
    )
    read = job | {"input": str(Path(job["input"]) / kind), "reads": columns}
    tables.create_temporary_view(kind, events(env, read), schema.build())


def from_kafka(
    tables: StreamTableEnvironment, job: dict[str, Any], kind: str, columns: dict[str, str]
) -> None:
    """Make a table of a topic, up to its present end. Its times are milliseconds."""
    named = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    options = {
        "connector": "kafka",
        "topic": job["topics"][kind],
        "properties.bootstrap.servers": job["brokers"],
        "properties.max.poll.records": job["most_polled"],
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        "format": "json",
    }
    settings = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    tables.execute_sql(
        f"CREATE TABLE {kind} ({named}, `at` AS TO_TIMESTAMP_LTZ(date_time, 3), "
        f"clock AS PROCTIME(), WATERMARK FOR `at` AS {WATERMARK}) WITH ({settings})"
    )


def main() -> None:
    """Run the job on the command line."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    env = environment(job)
    env.add_jars(*(Path(jar).as_uri() for jar in job["jars"]))
    tables = StreamTableEnvironment.create(env)
    for kind, columns in job["reads"].items():
        if job["brokers"] is None:
            from_files(env, tables, job, kind, columns)
        else:
            from_kafka(tables, job, kind, columns)
    print(json.dumps(answer(tables, job)))


if __name__ == "__main__":
    main()
