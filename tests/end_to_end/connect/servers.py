"""Servers and their clients in processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyspark

import transom
from transom.config import PROVIDER, ROCKSDB

HOME = Path(pyspark.__file__).parent
# Lets queries of SQL have windows.
EXTENSION = ("spark.sql.extensions", "transom.spark.Extensions")


def free_port() -> int:
    """A port that no process listens to."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def started(
    command: Sequence[str], folder: Path, line_at_start: str = "Spark Connect server started"
) -> Iterator[None]:
    """Run a command that starts a server, and wait until the server listens.

    Parameters
    ----------
    command : sequence of str
        A command whose process prints the log of the server.
    folder : Path
        The working directory of the process, which also has its PID files and logs.
    line_at_start : str
        A part of the line that the server logs when it listens.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=with_spark()
        | {
            # Spark's script starts a process in the background without this variable.
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_PID_DIR": str(folder),
            "SPARK_LOG_DIR": str(folder),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        log = []
        for line in process.stdout:
            log.append(line)
            if line_at_start in line:
                break
        else:
            raise AssertionError("".join(log))
        # The server would stop at a full pipe.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            yield
        finally:
            # The JVM may be a child of a script.
            os.killpg(process.pid, signal.SIGTERM)
            reader.join()


@contextmanager
def connect_server(folder: Path, *settings: tuple[str, str]) -> Iterator[str]:
    """The address of a Connect server with the jar and some settings."""
    port = free_port()
    chosen = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        **dict(settings),
    }
    command = [
        str(HOME / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[1]", "--jars", transom.jar_path()),
        *(word for name, value in chosen.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]
    with started(command, folder):
        yield f"sc://localhost:{port}"


def server_of_sql(folder: Path) -> AbstractContextManager[str]:
    """The address of a Connect server with what clients without transom need."""
    settings = {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        PROVIDER: ROCKSDB,
    }
    return connect_server(folder, EXTENSION, *settings.items())


def printed(python: Path, *arguments: str) -> list[str]:
    """The lines that a program prints, run by the Python of an environment."""
    packages = str(Path(transom.__file__).parents[1])
    done = subprocess.run(
        [python, *arguments],
        env=without_remote() | {"PYTHONPATH": packages, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


def with_spark() -> dict[str, str]:
    """The environment of this process for Spark's commands, with this Python."""
    python = str(Path(sys.executable).parent)
    packages = str(Path(transom.__file__).parents[1])
    return without_remote() | {
        "SPARK_HOME": str(HOME),
        "PATH": os.pathsep.join([python, str(HOME / "bin"), os.environ["PATH"]]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": packages,
    }


def without_remote() -> dict[str, str]:
    """The environment of this process without the server of its session."""
    return {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
