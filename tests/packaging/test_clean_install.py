"""The wheel in empty environments, one for each PySpark that it supports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import long

pytestmark = long


@pytest.fixture(scope="module", params=["4.2.0", "4.2.1", "4.3.0"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with only PySpark and the wheel."""
    wheel = request.getfixturevalue("wheel")
    folder = tmp_path_factory.mktemp(f"spark-{request.param}")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", f"pyspark=={request.param}", wheel]
    subprocess.run(install, check=True)
    return python


def run(python: Path, folder: Path, *arguments: str | Path) -> str:
    """Run the environment's Python in a folder outside of the project."""
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ
    }
    environment["PYSPARK_PYTHON"] = str(python)
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_query_gives_its_windows(python: Path, tmp_path: Path) -> None:
    program = Path(__file__).with_name("one_query.py")
    printed = json.loads(run(python, tmp_path, program, tmp_path).splitlines()[-1])
    assert printed["streamed"] == [["a", 0, 2], ["a", 10, 1], ["b", 0, 1]]
    assert printed["static"] == [["a", 0, 2], ["a", 10, 1], ["b", 0, 1], ["b", 100, 1]]


def test_the_doctor_misses_only_what_some_functions_need(python: Path, tmp_path: Path) -> None:
    *lines, last = run(python, tmp_path, "-m", "transom", "doctor").splitlines()
    missing = [line.split(":")[0] for line in lines if ": ok, " not in line]
    assert missing == ["pandas", "protobuf"]
    assert last.startswith("ready; optional, see above: pandas")
    assert lines[-2:] == [
        "window query: ok, a streaming query fired its window",
        "SQL: ok, GROUP BY transom_tumbling(...) and the other functions",
    ]


def test_the_jar_is_found_for_spark_submit(python: Path, tmp_path: Path) -> None:
    jar = Path(run(python, tmp_path, "-m", "transom", "jar").strip())
    assert jar.is_file()
    assert python.parents[1] in jar.parents
