"""What the doctor says of a machine, without a JVM."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from transom import _version, doctor
from transom.__main__ import main


def java(folder: Path, version: str) -> None:
    """A Java that only tells its version."""
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
    assert f"none at {tmp_path}/bin/java" in doctor.find_jdk().text
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "none at any folder of PATH" in doctor.find_jdk().text


def test_pyspark_is_here() -> None:
    assert doctor.find_pyspark() == doctor.Finding(ok=True, text=pyspark.__version__)


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
        "jar",
        "state store, window query",
    ]
    assert lines[1].startswith("PySpark: ok, ")


def test_the_command_needs_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "usage: python -m transom" in capsys.readouterr().err
