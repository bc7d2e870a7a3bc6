"""The peer of ``benchmarks.real_time`` in Flink SQL, with state on the heap and checkpoints.

``.venv-flink/bin/python -m benchmarks.real_time.flink_once JARS BROKERS INPUT OUTPUT WORK``. Runs
until it is killed.
"""

import sys
from pathlib import Path

from pyflink.table import StreamTableEnvironment

from benchmarks.peers.flink_source import environment


def main() -> None:
    """Read the topic until this process is killed."""
    jars, brokers, source, sink, work = sys.argv[1:]
    env = environment({"cores": 2, "work": work, "backend": "hashmap"})
    env.add_jars(*(Path(jar).as_uri() for jar in jars.split(":")))
    tables = StreamTableEnvironment.create(env)
    kafka = f"""
        'connector' = 'kafka',
        'properties.bootstrap.servers' = '{brokers}',
        'value.format' = 'raw'
    """
    # With watermark W, Flink expects no row at or before W. Spark expects no row before W.
    tables.execute_sql(f"""
        CREATE TABLE events (
          `value` STRING,
          k AS SPLIT_INDEX(`value`, ',', 0),
          `at` AS TO_TIMESTAMP_LTZ(CAST(SPLIT_INDEX(`value`, ',', 1) AS BIGINT) / 1000, 3),
          WATERMARK FOR `at` AS `at` - INTERVAL '0.001' SECOND(1, 3)
        ) WITH ({kafka}, 'topic' = '{source}', 'scan.startup.mode' = 'earliest-offset')
    """)
    tables.execute_sql(f"""
        CREATE TABLE results (`value` STRING) WITH ({kafka}, 'topic' = '{sink}')
    """)
    running = tables.execute_sql("""
        INSERT INTO results
        SELECT
          CAST(
            TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end) AS STRING
          ) || '000000,' || CAST(n AS STRING) || ',' || k
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
