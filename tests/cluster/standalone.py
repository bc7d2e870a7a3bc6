"""A Spark Standalone cluster on the loopback addresses of this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyspark

ROOT = Path(__file__).parents[2]
# Made from the wheel by `make test-cluster`. The driver does not use it.
ENVIRONMENT = ROOT / "build" / "cluster" / "environment"
SPARK_HOME = Path(pyspark.__file__).parent
_LONGEST_WAIT = 120
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_DEPLOY = "org.apache.spark.deploy"
_REGISTERED = "Successfully registered with master"
# The machine ends with its process, and with the process of the tests. The pipe of its input closes
# then, even if the tests are killed.
_WITH_THE_TESTS = ("bash", "-c", '("$@"; kill -KILL 0) & read -r; kill -KILL 0', "machine")


class Standalone:
    """A master and its workers, each in a process of its own, with random free ports.

    The machines differ by their loopback address, because Spark runs a speculative copy of a task
    only on another machine. An executor inherits nothing from the tests: neither a folder of Python
    modules nor a class path.

    Parameters
    ----------
    folder : Path
        Empty folder for logs and local files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers: list[subprocess.Popen[bytes]] = []
        (folder / "conf").mkdir(parents=True)
        # Without a limit, so that an application lives on however often its executors die.
        options = {"SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1"}
        arguments = [
            f"{_DEPLOY}.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--webui-port",
            "0",
        ]
        log, process = self._start("master", arguments, options)
        self.url = _found(log, _MASTER, process)

    def add_workers(self, count: int) -> None:
        """Start more workers, each on a machine of its own, which runs one executor."""
        started = [self._start_worker() for _ in range(count)]
        for log, process in started:
            _found(log, re.compile(_REGISTERED), process)

    def _start_worker(self) -> tuple[Path, subprocess.Popen[bytes]]:
        number = 1 + sum("worker" in path.name for path in self._folder.glob("*.log"))
        name = f"worker{number}"
        arguments = [f"{_DEPLOY}.worker.Worker", "--host", f"127.0.0.{number}", "--port", "0"]
        arguments += ["--webui-port", "0", "--cores", "2", "--memory", "2g"]
        arguments += ["--work-dir", str(self._folder / name / "work"), self.url]
        local = {"SPARK_LOCAL_DIRS": str(self._folder / name / "local")}
        log, process = self._start(name, arguments, local)
        self._workers.append(process)
        return log, process

    def remove_worker(self) -> None:
        """Stop the oldest worker and its executors, as if its machine were taken away."""
        _kill(self._workers.pop(0))

    def kill_executor(self) -> None:
        """Kill the executors of the oldest worker, which starts others."""
        executors = ("-g", str(self._workers[0].pid), "-f", "CoarseGrainedExecutorBackend")
        subprocess.run(["pkill", "-KILL", *executors], check=True)

    def stop(self) -> None:
        """Stop all processes of the cluster."""
        for process in reversed(self._processes):
            _kill(process)

    def _start(
        self, name: str, arguments: list[str], more: dict[str, str]
    ) -> tuple[Path, subprocess.Popen[bytes]]:
        log = self._folder / f"{name}.log"
        spark_class = SPARK_HOME / "bin" / "spark-class"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*_WITH_THE_TESTS, spark_class, *arguments],
                stdin=subprocess.PIPE,
                cwd=self._folder,
                env=clean_environment() | {"SPARK_CONF_DIR": str(self._folder / "conf")} | more,
                stdout=out,
                stderr=subprocess.STDOUT,
                # A group of its own: a worker takes its executors along.
                start_new_session=True,
            )
        self._processes.append(process)
        return log, process

    def __enter__(self) -> Standalone:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def clean_environment() -> dict[str, str]:
    """The environment variables of a machine on which only Spark has been installed."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return kept | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TZ": "UTC",
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _found(log: Path, pattern: re.Pattern[str], process: subprocess.Popen[bytes]) -> str:
    """Wait until a process has logged a pattern, and return its last group."""
    deadline = time.monotonic() + _LONGEST_WAIT
    while time.monotonic() < deadline:
        match = pattern.search(log.read_text(errors="replace"))
        if match is not None:
            return match.group(match.lastindex or 0)
        assert process.poll() is None, f"a process of the cluster ended:\n{log.read_text()}"
        time.sleep(0.05)
    raise TimeoutError(f"no '{pattern.pattern}' in the log:\n{log.read_text()}")
