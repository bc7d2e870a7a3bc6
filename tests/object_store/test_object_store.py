"""A query with its checkpoint and its results in S3 goes on after kills."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/running/object-store.md").read_text("utf-8")
# Made by `make test-object-store`.
ENVIRONMENT = ROOT / "build" / "object-store" / "environment"
JARS = ROOT / "build" / "object-store" / "jars"
BUCKET = "flights"
_FILES = 9
_ROWS_OF_A_FILE = 12
_HOURS_LATE = 5
_FIRST_HOUR = datetime(2013, 1, 1)
_MOST_SECONDS = 600


class Server:
    """An S3 server in a process of its own, that keeps its objects in memory.

    Parameters
    ----------
    log : Path
        File for the output of the process.
    """

    def __init__(self, log: Path) -> None:
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [ENVIRONMENT / "bin" / "python", Path(__file__).with_name("server.py")],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        assert port, log.read_text()
        self.url = f"http://127.0.0.1:{port}"
        request = urllib.request.Request(f"{self.url}/{BUCKET}", method="PUT")
        urllib.request.urlopen(request, timeout=_MOST_SECONDS).close()

    def numbers(self, folder: str) -> set[int]:
        """The batches that have an object in a folder of Spark's logs."""
        address = f"{self.url}/{BUCKET}?list-type=2&prefix={folder}/"
        with urllib.request.urlopen(address, timeout=_MOST_SECONDS) as answer:
            found = re.findall(rf"<Key>{folder}/(\d+)(?:\.compact)?</Key>", answer.read().decode())
        return set(map(int, found))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    assert (ENVIRONMENT / "bin" / "python").exists(), "run this test by: make test-object-store"
    started = Server(tmp_path / "server.log")
    yield started
    started.stop()


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "nothing has happened for too long"
        time.sleep(0.05)


def write_input(folder: Path) -> list[str]:
    """Write the files of the source, and return what the query must write.

    The rows of a file are from one hour. Two rows of each later file are five hours late.
    """
    folder.mkdir()
    chosen = random.Random(7)
    results: dict[tuple[str, datetime], tuple[int, int]] = {}
    expected = []
    for file in range(_FILES):
        lines = []
        for index in range(_ROWS_OF_A_FILE):
            number = file * _ROWS_OF_A_FILE + index
            is_late = index >= _ROWS_OF_A_FILE - 2 and file >= _HOURS_LATE
            hour = _FIRST_HOUR + timedelta(hours=file - _HOURS_LATE * is_late)
            at = hour + timedelta(minutes=chosen.randrange(60))
            key, value = chosen.choice("abc"), chosen.randrange(100)
            lines.append(f"{number},{key},{at.isoformat(sep=' ')},{value}\n")
            if is_late:
                expected.append(f"late {number}")
            else:
                rows, total = results.get((key, hour), (0, 0))
                results[key, hour] = (rows + 1, total + value)
        path = folder / f"{file:03}.csv"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    for (key, hour), (rows, total) in results.items():
        expected.append(f"result {key} {hour.isoformat()} {rows} {total}")
    return expected


def test_the_page_names_the_packages_of_this_test() -> None:
    assert JARS.is_dir(), "run this test by: make test-object-store"
    (packages,) = re.findall(r"--packages (\S+)", PAGE)
    named = {"-".join(package.split(":")[1:]) + ".jar" for package in packages.split(",")}
    assert named == {jar.name for jar in JARS.iterdir()}


def test_a_query_in_an_object_store_survives_kills(server: Server, tmp_path: Path) -> None:
    expected = write_input(tmp_path / "in")
    settings = [
        f"spark.hadoop.fs.s3a.endpoint={server.url}",
        "spark.hadoop.fs.s3a.endpoint.region=us-east-1",
        "spark.hadoop.fs.s3a.path.style.access=true",
        # An upload does not wait until the server sends `100 Continue`.
        "spark.hadoop.fs.s3a.connection.expect.continue=false",
        "spark.driver.extraClassPath=" + os.pathsep.join(map(str, sorted(JARS.iterdir()))),
        "spark.driver.memory=1g",
        "spark.local.dir=" + str(tmp_path / "local"),
        "spark.sql.session.timeZone=UTC",
        "spark.sql.shuffle.partitions=1",
        "spark.ui.enabled=false",
    ]
    command = [sys.executable, "-m", "tests.object_store.program", str(tmp_path / "in")]
    command += [f"s3a://{BUCKET}/hours", f"s3a://{BUCKET}/checkpoint", *settings]
    log = tmp_path / "log"

    def started() -> subprocess.Popen[bytes]:
        with log.open("wb") as out:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ
                | {"TZ": "UTC", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill_in_a_batch(written: str) -> None:
        """Kill the query when a batch is in one of its logs, and not yet in the commit log."""
        before = server.numbers("checkpoint/commits")
        process = started()

        def is_in_a_batch() -> bool:
            assert process.poll() is None, log.read_text(errors="replace")[-8000:]
            committed = server.numbers("checkpoint/commits")
            # It has committed a batch of its own, so it is past its restart.
            return committed > before and bool(server.numbers(written) - committed)

        try:
            _wait_for(is_in_a_batch)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        unfinished = server.numbers(written) - server.numbers("checkpoint/commits")
        assert unfinished, f"the kill came after the commit of {written}"

    for written in ("checkpoint/offsets", "hours/_spark_metadata", "checkpoint/offsets"):
        kill_in_a_batch(written)
    last = started()
    try:
        code = last.wait(_MOST_SECONDS)
    finally:
        last.kill()
        last.wait()
    lines = log.read_text(errors="replace").splitlines()
    assert code == 0, "\n".join(lines[-100:])
    found = [line for line in lines if line.startswith(("result ", "late "))]
    assert Counter(found) == Counter(expected)
