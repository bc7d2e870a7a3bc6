"""The lines of the doctor, and its last one."""

import socket
from pathlib import Path

import pytest

from transom import doctor
from transom.__main__ import main
from transom._installation import Finding

FINE = Finding.fine("here")
CHECKS = (
    "find_jdk",
    "find_pyspark",
    "find_pyarrow",
    "find_pandas",
    "find_protobuf",
    "find_worker_python",
    "find_jar",
)
CHECKS_OF_A_SESSION = ("find_state_store", "find_window", "find_sql")


class Stopped:
    """A session that can only be stopped."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    """The session of a doctor that finds nothing to do."""
    session = Stopped()
    for name in CHECKS:
        monkeypatch.setattr(doctor, name, lambda: FINE)
    for name in CHECKS_OF_A_SESSION:
        monkeypatch.setattr(doctor, name, lambda _: FINE)
    monkeypatch.setattr(doctor, "_session", lambda: session)
    return session


def test_the_last_line_of_a_machine_without_problems_is_ready(
    session: Stopped, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS + CHECKS_OF_A_SESSION)
    assert all(line.endswith(": ok, here") for line in lines)
    assert last == "ready"
    assert session.stopped


def test_the_last_line_names_the_first_problem_that_stops_windows(
    session: Stopped, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    optional = Finding.todo("no pandas: pip install pandas", optional=True)
    monkeypatch.setattr(doctor, "find_pandas", lambda: optional)
    monkeypatch.setattr(doctor, "find_state_store", lambda _: Finding.todo("remove a setting"))
    monkeypatch.setattr(doctor, "find_window", lambda _: Finding.todo("report a bug"))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "not ready, first state store: remove a setting"
    )
    assert session.stopped


@pytest.mark.usefixtures("session")
def test_the_last_line_says_ready_and_names_what_is_optional(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other checks still run, and decide the exit code."""
    for name in ("pandas", "protobuf"):
        optional = Finding.todo(f"pip install {name}", optional=True)
        monkeypatch.setattr(doctor, f"find_{name}", lambda optional=optional: optional)
    assert main(["doctor"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert "protobuf: pip install protobuf" in lines
    assert "window query: ok, here" in lines
    assert last == "ready; optional, see above: pandas and protobuf"


def test_what_needs_a_session_waits_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "JDK",
        "PySpark",
        "pyarrow",
        "pandas",
        "protobuf",
        "worker Python",
        "jar",
        "state store, window query, SQL",
        "not ready, first JDK",
    ]
    assert lines[1].startswith("PySpark: ok, ")


@pytest.mark.usefixtures("session")
def test_a_session_that_does_not_start_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_session() -> None:
        raise OSError("no session in this test")

    monkeypatch.setattr(doctor, "_session", no_session)
    assert main(["doctor"]) == 1
    problem = "session: Spark does not start: no session in this test; read its messages above"
    assert capsys.readouterr().out.splitlines()[-2:] == [problem, f"not ready, first {problem}"]


def test_the_command_needs_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "usage: python -m transom" in capsys.readouterr().err


def test_a_connect_server_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        # Bound, but not listening.
        taken.bind(("localhost", 0))
        url = f"sc://localhost:{taken.getsockname()[1]}"
        assert main(["doctor", "--connect", url]) == 1
    assert f"no answer from {url}" in capsys.readouterr().out
