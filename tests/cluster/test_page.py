"""The page about clusters, followed word for word on a cluster of processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cluster.standalone import ROOT, SPARK_HOME, Standalone, clean_environment

PAGE = (ROOT / "docs/how-to/running/cluster.md").read_text("utf-8")
MASTER = "spark://master:7077"
_MOST_SECONDS = 300

pytestmark = pytest.mark.skipif(
    "TRANSOM_LONG" not in os.environ, reason="takes minutes: run by make check-long"
)

# A program with the arguments of the page's, and a function with state. The name of the function's
# interpreter shows which environment runs it.
STATEFUL = """
import sys

import pyarrow as pa
import transom
from pyspark.sql import SparkSession


def counted(window, context):
    state = context.key_state
    state["rows"] = (state["rows"] or 0) + window.num_rows
    return pa.table({"flights": [state["rows"]], "python": [sys.executable]})


source, target, checkpoint = sys.argv[1:]
session = transom.configure(SparkSession.builder.appName("counted")).getOrCreate()
flights = session.readStream.schema("origin string, departed timestamp").csv(source)
hours = (
    transom.stream(flights, time=transom.EventTime("departed", delay="10 minutes"))
    .key_by("origin")
    .window(transom.Tumbling(size="1 hour"))
    .apply(counted, "flights long, python string", key_state="rows long")
)
query = hours.writeStream.format("parquet").option("path", target)
query.option("checkpointLocation", checkpoint).start().awaitTermination()
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program of the page, and the environment that its commands make."""
    folder = tmp_path_factory.mktemp("page")
    (program,) = re.findall(r"```python\n# hours.py\n(.*?)```", PAGE, re.DOTALL)
    (folder / "hours.py").write_text(program, encoding="utf-8")
    (folder / "stateful.py").write_text(STATEFUL, encoding="utf-8")
    # The settings of the cluster. Spark's default is 200 tasks for each batch.
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 2\n")
    (wheel,) = (ROOT / "dist").glob("*.whl")
    shutil.copy(wheel, folder)
    making, _ = shell_commands()
    assert wheel.name in making
    subprocess.run(["bash", "-euc", making], cwd=folder, env=on_the_machine(), check=True)
    assert (folder / "environment.tar.gz").is_file()
    return folder


def shell_commands() -> list[str]:
    """The commands of the page: they make an environment, and submit the program."""
    return re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


def on_the_machine() -> dict[str, str]:
    """The variables of a user whose environment with PySpark and transom is active."""
    clean = clean_environment()
    paths = [str(Path(sys.executable).parent), str(SPARK_HOME / "bin"), clean["PATH"]]
    return clean | {"PATH": os.pathsep.join(paths)}


def submitted(
    cluster: Standalone, environment: Path, program: str, shared: Path
) -> list[dict[str, Any]]:
    """Submit a program as on the page, wait for its first results, and return them."""
    source = shared / "in"
    source.mkdir()
    (source / "0.csv").write_text("JFK,2013-01-01 05:44\nJFK,2013-01-01 05:54\n")
    (source / "1.csv").write_text("JFK,2013-01-01 07:15\n")
    _, submitting = shell_commands()
    assert MASTER in submitting
    command = submitting.replace(MASTER, cluster.url).replace("/shared/", f"{shared}/")
    log = shared / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-euc", command.replace("hours.py", program)],
            cwd=environment,
            env=on_the_machine() | {"SPARK_CONF_DIR": str(environment / "conf")},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _MOST_SECONDS
        while True:
            assert process.poll() is None, log.read_text(errors="replace")[-8000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-8000:]
            # The batch without rows after the first batch closes the first hour.
            if (shared / "checkpoint/commits/1").exists():
                rows: list[dict[str, Any]] = pq.read_table(shared / "hours").to_pylist()
                return rows
            time.sleep(0.2)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_program_of_the_page_runs_by_its_commands(
    cluster: Standalone, environment: Path, tmp_path: Path
) -> None:
    (row,) = submitted(cluster, environment, "hours.py", tmp_path)
    assert (row["origin"], row["flights"]) == ("JFK", 2)
    assert (row["window"]["start"].hour, row["window"]["end"].hour) == (5, 6)


def test_a_function_with_state_runs_by_the_same_commands(
    cluster: Standalone, environment: Path, tmp_path: Path
) -> None:
    (row,) = submitted(cluster, environment, "stateful.py", tmp_path)
    assert (row["origin"], row["flights"]) == ("JFK", 2)
    # The executor has unpacked the archive in its own folder.
    assert row["python"].endswith("environment/bin/python")
    assert not row["python"].startswith(str(environment))
