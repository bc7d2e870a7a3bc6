"""Windows in Spark's own commands for SQL: ``spark-sql`` and the Thrift server."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import transom
from tests.end_to_end.connect.servers import free_port, started, with_spark

PAGE = Path(__file__).parents[3] / "docs" / "sql.md"
QUERY = """
SELECT origin, window.start, count(*) AS n
FROM VALUES ('JFK', TIMESTAMP '2013-01-01 05:44'),
            ('JFK', TIMESTAMP '2013-01-01 06:11') AS t(origin, at)
GROUP BY origin, transom_tumbling(at, '1 hour', offset => '30 minutes')
"""
QUERY = " ".join(QUERY.split()) + ";"
# Without a metastore on disk.
SETTINGS = {
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRANSOM_LONG"), reason="make check-long starts Spark's commands"
)


def settings() -> list[str]:
    return [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=with_spark(), capture_output=True, text=True, check=False
    )


def test_the_command_of_the_page_runs_windows(tmp_path: Path) -> None:
    (command,) = re.findall(r"```bash\n(spark-sql .*?)\n```", PAGE.read_text("utf-8"), re.DOTALL)
    given = [*settings(), "--master", "local[1]", "-e", QUERY]
    done = run(["bash", "-c", f'{command} "$@"', "spark-sql", *given], tmp_path)
    assert done.stdout.splitlines() == ["JFK\t2013-01-01 05:30:00\t2"], done.stderr


def test_a_client_of_the_thrift_server_runs_windows(tmp_path: Path) -> None:
    port = free_port()
    server = [
        "spark-submit",
        *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"),
        *("--master", "local[1]", "--jars", transom.jar_path()),
        *("--conf", "spark.sql.extensions=transom.spark.Extensions"),
        *settings(),
        *("spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}"),
    ]
    client = [
        "beeline",
        "-u",
        f"jdbc:hive2://localhost:{port}",
        "--outputformat=csv2",
        "--silent=true",
    ]
    with started(server, tmp_path, "HiveThriftServer2 started"):
        done = run([*client, "-e", QUERY], tmp_path)
        refused = run([*client, "-e", QUERY.replace("'1 hour'", "'soon'")], tmp_path)
    assert done.stdout.splitlines() == ["origin,start,n", "JFK,2013-01-01 05:30:00.0,2"], done
    assert "[TRANSOM_BAD_DURATION] size is 'soon'" in refused.stderr
