"""A client without a JVM, and servers that lack something. Both are separate processes."""

import os
import socket
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

import transom
from tests.end_to_end.support.programs import windowing_remotely

EXTENSION = ("spark.sql.extensions", "transom.spark.Extensions")
PLUGIN = ("spark.connect.extensions.relation.classes", "transom.spark.ConnectRelations")
PROGRAM = windowing_remotely.__file__

pytestmark = pytest.mark.skipif(
    "TRANSOM_LONG" not in os.environ, reason="make check-long installs a client for it"
)


@contextmanager
def server(folder: Path, *settings: tuple[str, str]) -> Iterator[str]:
    """The address of a Connect server with the jar and some settings."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    chosen = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        **dict(settings),
    }
    home = Path(pyspark.__file__).parent
    command = subprocess.Popen(
        [
            home / "bin" / "spark-submit",
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--master", "local[1]", "--jars", transom.jar_path()),
            *(word for name, value in chosen.items() for word in ("--conf", f"{name}={value}")),
            "spark-internal",
        ],
        cwd=folder,
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with command as process:
        assert process.stdout is not None
        log = []
        for line in process.stdout:
            log.append(line)
            if "Spark Connect server started" in line:
                break
        else:
            raise AssertionError("".join(log))
        # The server would stop at a full pipe.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            yield f"sc://localhost:{port}"
        finally:
            process.terminate()
            reader.join()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with PySpark's client, and without py4j and Spark's jars."""
    folder = tmp_path_factory.mktemp("client")
    venv.create(folder, with_pip=True)
    client = f"pyspark-client=={pyspark.__version__}"
    subprocess.run([folder / "bin/pip", "install", "--quiet", client], check=True)
    return folder / "bin" / "python"


def printed(python: Path, *arguments: str) -> list[str]:
    """The lines that a program prints in the environment of the client."""
    packages = str(Path(transom.__file__).parents[1])
    done = subprocess.run(
        [python, *arguments],
        env=os.environ | {"PYTHONPATH": packages, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


def test_windows_run_and_another_version_is_refused(python: Path, tmp_path: Path) -> None:
    with server(tmp_path, EXTENSION, PLUGIN) as url:
        assert printed(python, PROGRAM, url) == ["('a', 3) ('b', 3)", "('a', 2) ('b', 1)"]
        assert printed(python, PROGRAM, url, "9.9.9") == ["TRANSOM_JAR_VERSION "]
        lines = printed(python, "-m", "transom", "doctor", "--connect", url)
        assert [line.split(",")[0] for line in lines] == [
            "server: ok",
            "state store: ok",
            "window: ok",
            "ready",
        ]


@pytest.mark.parametrize(("given", "missing"), [(PLUGIN, EXTENSION), (EXTENSION, PLUGIN)])
def test_the_error_names_what_the_server_lacks(
    python: Path, tmp_path: Path, given: tuple[str, str], missing: tuple[str, str]
) -> None:
    with server(tmp_path, given) as url:
        assert printed(python, PROGRAM, url) == [f"TRANSOM_CONNECT_SERVER {missing[0]}"]
        lines = printed(python, "-m", "transom", "doctor", "--connect", url)
        assert f"was started without {missing[0]}" in lines[-1]
