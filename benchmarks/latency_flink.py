"""The peer of ``benchmarks.latency`` in Flink SQL, with one of Flink's state backends.

``.venv-flink/bin/python -m benchmarks.latency_flink hashmap FOLDER``. Runs until it is killed.
"""

import sys
from pathlib import Path

from pyflink.table import StreamTableEnvironment

from benchmarks.peers.flink_source import environment


def main() -> None:
    """Read the folder until this process is killed."""
    backend, folder = sys.argv[1], Path(sys.argv[2])
    job = {"cores": 2, "work": str(folder.parent), "backend": backend}
    tables = StreamTableEnvironment.create(environment(job))
    # With watermark W, Flink expects no row at or before W. Spark expects no row before W.
    tables.execute_sql(f"""
        CREATE TABLE events (
          k BIGINT,
          ts BIGINT,
          `at` AS TO_TIMESTAMP_LTZ(ts / 1000, 3),
          WATERMARK FOR `at` AS `at` - INTERVAL '0.001' SECOND(1, 3)
        ) WITH (
          'connector' = 'filesystem',
          'format' = 'parquet',
          'path' = '{folder.as_uri()}',
          'source.monitor-interval' = '100 ms'
        )
    """)
    tables.execute_sql("CREATE TABLE results (`end` BIGINT, n BIGINT) WITH ('connector' = 'print')")
    running = tables.execute_sql("""
        INSERT INTO results
        SELECT
          CAST(1000000 AS BIGINT)
            * TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end),
          n
        FROM (
          SELECT k, window_start, window_end, count(*) AS n
          FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`at`), INTERVAL '1' SECOND))
          GROUP BY k, window_start, window_end
        )
    """)
    print("ready", flush=True)
    running.wait()


if __name__ == "__main__":
    main()
