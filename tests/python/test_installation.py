"""The checks of the installation, which need no JVM."""

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from transom import _installation, _version
from transom._installation import Finding


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
    assert _installation.find_jdk() == Finding(ok=True, text=f"{shown} at {tmp_path}/bin/java")


@pytest.mark.parametrize("version", ['java version "1.8.0_401"', 'openjdk version "11.0.2"', "?"])
def test_an_older_jdk_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = _installation.find_jdk()
    assert not found.ok
    assert "install JDK 17 or newer and set JAVA_HOME" in found.text


def test_no_jdk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"no java at {tmp_path}/bin/java" in _installation.find_jdk().text
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no java at any folder of PATH" in _installation.find_jdk().text


def spark_home(folder: Path, version: str) -> str:
    """A Spark folder that only has the jar with its version."""
    (folder / "jars").mkdir(parents=True)
    (folder / f"jars/spark-core_2.13-{version}.jar").touch()
    return str(folder)


def test_pyspark_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert _installation.find_pyspark() == Finding(ok=True, text=pyspark.__version__)


@pytest.mark.parametrize("version", ["3.5.8", "4.1.0", "4.20.1"])
def test_a_pyspark_that_is_not_supported_is_told(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    found = _installation.find_pyspark()
    assert not found.ok
    assert version in found.text
    assert "pip install 'pyspark~=4.3.0'" in found.text


@pytest.mark.parametrize("version", ["4.2.0", "4.2.1"])
def test_a_spark_home_of_the_same_line_is_ok(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    monkeypatch.setenv("SPARK_HOME", spark_home(tmp_path, version))
    assert _installation.find_pyspark() == Finding(ok=True, text="4.2.0")


@pytest.mark.parametrize("version", ["4.3.0", "3.5.8"])
def test_a_spark_home_of_another_line_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    monkeypatch.setenv("SPARK_HOME", spark_home(tmp_path, version))
    found = _installation.find_pyspark()
    assert not found.ok
    assert f"Spark {version} at {tmp_path}" in found.text
    assert "unset SPARK_HOME" in found.text


def test_a_spark_home_without_spark_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = _installation.find_pyspark()
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
    assert _installation.find_pyarrow().ok


def test_pandas_is_here() -> None:
    found = Finding(ok=True, text=metadata.version("pandas"))
    assert _installation.find_pandas() == found


def _not_found(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_a_missing_or_old_pandas_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python raises ImportError for a module that is None.
    monkeypatch.setitem(sys.modules, "pandas", None)
    with monkeypatch.context() as patched:
        patched.setattr(_installation, "version", _not_found)
        missing = _installation.find_pandas()
    assert missing.text.startswith("pandas is not installed; only")
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(__version__="1.5.3"))
    old = _installation.find_pandas()
    assert "version is 1.5.3" in old.text
    for found in (missing, old):
        assert found.optional
        assert not found.ok
        assert "only form='pandas'" in found.text
        assert "pip install --upgrade 'pandas<3'" in found.text


def test_protobuf_is_here() -> None:
    assert _installation.find_protobuf() == Finding(ok=True, text=metadata.version("protobuf"))


def test_a_missing_or_old_protobuf_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(error: Exception) -> None:
        def load(_: str) -> None:
            raise error

        monkeypatch.setattr(_installation, "import_module", load)

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    # The error of protobuf for code that a newer version has generated.
    loading(RuntimeError("gencode 6.33.5 runtime 5.29.0"))
    old = _installation.find_protobuf()
    assert not old.ok
    assert old.optional
    assert "gencode 6.33.5 runtime 5.29.0" in old.text
    assert "pip install --upgrade protobuf" in old.text
    loading(ModuleNotFoundError("No module named 'google'"))
    monkeypatch.setattr(_installation, "version", missing)
    absent = _installation.find_protobuf()
    assert not absent.ok
    assert "not installed" in absent.text
    assert "only window_state, key_state" in absent.text
    assert "pip install protobuf" in absent.text


def python(folder: Path, program: str) -> str:
    """A `python` command that runs a line of shell."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    return str(path)


def test_the_same_python_for_workers_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    version = ".".join(map(str, sys.version_info[:2]))
    found = Finding(ok=True, text=f"{version}, started as {sys.executable}")
    assert _installation.find_worker_python() == found


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("echo 2.7", "is Python 2.7, but this is Python 3."),
        ("echo 'No module named transom' >&2; exit 1", "cannot import transom (No module named"),
        ("exit 1", "cannot import transom (it fails)"),
    ],
)
def test_another_python_for_workers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, problem: str
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", python(tmp_path, program))
    found = _installation.find_worker_python()
    assert not found.ok
    assert found.optional
    assert f"{tmp_path}/python {problem}" in found.text
    assert f"export PYSPARK_PYTHON={sys.executable}" in found.text


def test_workers_without_a_python_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = _installation.find_worker_python()
    assert not found.ok
    assert "Spark cannot start python3" in found.text


def test_a_jar_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "transom.jar"
    monkeypatch.setattr(_installation, "jar_path", lambda: str(path))
    assert "cannot be read" in _installation.find_jar().text
    for version, ok in [("0.0.9", False), (_version.__version__, True)]:
        with zipfile.ZipFile(path, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"Implementation-Version: {version}\r\n")
        found = _installation.find_jar()
        assert found.ok is ok
        assert version in found.text
