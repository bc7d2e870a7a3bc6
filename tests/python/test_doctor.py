"""The findings of the doctor that need no JVM."""

import socket
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pyspark
import pytest

from transom import _version, doctor
from transom.__main__ import main


def java(folder: Path, version: str) -> None:
    """A `java` command that only prints its version."""
    path = folder / "bin/java"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "17.0.15"),
        ('java version "21" 2023-09-19', "21"),
    ],
)
def test_a_jdk_of_17_or_newer_is_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, shown: str
) -> None:
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor.find_jdk() == doctor.Finding(ok=True, text=f"{shown} at {tmp_path}/bin/java")


@pytest.mark.parametrize("version", ['java version "1.8.0_401"', 'openjdk version "11.0.2"', "?"])
def test_an_older_jdk_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = doctor.find_jdk()
    assert not found.ok
    assert "install JDK 17 or newer and set JAVA_HOME" in found.text


def test_no_jdk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"no java at {tmp_path}/bin/java" in doctor.find_jdk().text
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no java at any folder of PATH" in doctor.find_jdk().text


def spark_home(folder: Path, version: str) -> str:
    """A Spark folder that only has the jar with its version."""
    (folder / "jars").mkdir(parents=True)
    (folder / f"jars/spark-core_2.13-{version}.jar").touch()
    return str(folder)


def test_pyspark_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert doctor.find_pyspark() == doctor.Finding(ok=True, text=pyspark.__version__)


@pytest.mark.parametrize("version", ["3.5.8", "4.1.0", "4.20.1"])
def test_a_pyspark_that_is_not_supported_is_told(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    found = doctor.find_pyspark()
    assert not found.ok
    assert version in found.text
    assert "pip install 'pyspark~=4.3.0'" in found.text


@pytest.mark.parametrize("version", ["4.2.0", "4.2.1"])
def test_a_spark_home_of_the_same_line_is_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    monkeypatch.setenv("SPARK_HOME", spark_home(tmp_path, version))
    assert doctor.find_pyspark() == doctor.Finding(ok=True, text="4.2.0")


@pytest.mark.parametrize("version", ["4.3.0", "3.5.8"])
def test_a_spark_home_of_another_line_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    monkeypatch.setenv("SPARK_HOME", spark_home(tmp_path, version))
    found = doctor.find_pyspark()
    assert not found.ok
    assert f"Spark {version} at {tmp_path}" in found.text
    assert "unset SPARK_HOME" in found.text


def test_a_spark_home_without_spark_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = doctor.find_pyspark()
    assert not found.ok
    assert f"no Spark at {tmp_path}" in found.text
    assert "unset SPARK_HOME" in found.text


@pytest.mark.parametrize("version", ["3.5.8", "4.0.1", "4.20.1"])
def test_another_pyspark_is_told_before_its_parts_are_missed(version: str) -> None:
    doctored = (
        "import sys, runpy, pyspark\n"
        f"pyspark.__version__ = '{version}'\n"
        "sys.modules['pyspark.sql.classic.dataframe'] = None\n"
        "runpy.run_module('transom', run_name='__main__')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", doctored, "doctor"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert f"This is Spark {version}, but transom" in ran.stderr
    assert "pip install 'pyspark~=4.3.0'" in ran.stderr


def test_pyarrow_is_here() -> None:
    assert doctor.find_pyarrow().ok


def test_protobuf_is_here() -> None:
    assert doctor.find_protobuf() == doctor.Finding(ok=True, text=metadata.version("protobuf"))


def test_a_missing_or_old_protobuf_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(error: Exception) -> None:
        def load(_: str) -> None:
            raise error

        monkeypatch.setattr(doctor, "import_module", load)

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    # The error of protobuf for code that a newer version has generated.
    loading(RuntimeError("gencode 6.33.5 runtime 5.29.0"))
    old = doctor.find_protobuf()
    assert not old.ok
    assert "gencode 6.33.5 runtime 5.29.0" in old.text
    assert "pip install --upgrade protobuf" in old.text
    loading(ModuleNotFoundError("No module named 'google'"))
    monkeypatch.setattr(doctor, "version", missing)
    absent = doctor.find_protobuf()
    assert not absent.ok
    assert "not installed" in absent.text
    assert "window_state and key_state" in absent.text
    assert "pip install protobuf" in absent.text


def test_a_jar_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transom.jar"
    monkeypatch.setattr(doctor, "jar_path", lambda: str(path))
    assert "cannot be read" in doctor.find_jar().text
    for version, ok in [("0.0.9", False), (_version.__version__, True)]:
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"Implementation-Version: {version}\r\n")
        found = doctor.find_jar()
        assert found.ok is ok
        assert version in found.text


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
        "protobuf",
        "jar",
        "state store, window query",
    ]
    assert lines[1].startswith("PySpark: ok, ")


def test_only_functions_with_state_miss_protobuf(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other checks still run, and decide the result of the command."""
    fine = doctor.Finding(ok=True, text="here")
    for name in ("find_jdk", "find_pyspark", "find_pyarrow", "find_jar"):
        monkeypatch.setattr(doctor, name, lambda: fine)
    absent = doctor.Finding(ok=False, text="pip install protobuf")
    monkeypatch.setattr(doctor, "find_protobuf", lambda: absent)

    def no_session() -> None:
        raise OSError("no session in this test")

    monkeypatch.setattr(doctor, "_session", no_session)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[3] == "protobuf: pip install protobuf"
    assert lines[-1].startswith("session: ")


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
