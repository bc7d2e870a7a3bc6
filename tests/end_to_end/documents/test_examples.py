"""The example scripts and the demo run and print what they should."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.sessions import Reason, skip_in_connect

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"

# The lines of each script's output that show its subject, by the rules, from the rows in
# examples/flights.py.
EXAMPLES = {
    "windows.hopping": [
        "|JFK   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|2      |12   |",
        "|JFK   |{2013-03-09 18:30:00, 2013-03-09 19:30:00}|1      |12   |",
    ],
    "windows.sessions": ["|N505JB|{2013-03-09 18:05:00, 2013-03-10 08:20:00}|3      |1       |"],
    "windows.calendar_days": ["|{2013-03-10 00:00:00, 2013-03-11 00:00:00}|5      |2.6  |23.0 |"],
    "windows.count_windows": [
        "|JFK   |{2013-03-09 21:30:00, 2013-03-09 23:50:00}|2      |82.5 |",
        # The second flight came after the watermark. Windows of rows do not look at it.
        "|LGA   |{2013-03-09 18:20:00, 2013-03-09 18:45:00}|2      |4.5  |",
    ],
    "windows.several_windows": [
        "|{2013-03-09 00:00:00, 2013-03-10 00:00:00}|day      |8      |140  |",
        # The flight at 18:45 came after this hour had fired, but it counts in the day.
        "|{2013-03-09 18:00:00, 2013-03-09 19:00:00}|hour     |4      |12   |",
    ],
    "windows.lifetimes": [
        ("|{2013-03-09 18:55:00, 2013-03-09 20:05:00}|4     |[N14228, N3KAAA, N505JB, N721TW]|"),
        "|{2013-03-09 20:40:00, 2013-03-09 20:55:00}|1     |[N14228]                        |",
        # Clocks skip the hour before 03:00.
        "|{2013-03-10 03:15:00, 2013-03-10 04:20:00}|2     |[N14228, N505JB]                |",
    ],
    "windows.chaining": ["|{2013-03-09 00:00:00, 2013-03-10 00:00:00}|3         |209  |"],
    "firing.early_and_late": [
        "|JFK   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|0    |early  |2      |12   |",
        "|JFK   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|1    |on_time|2      |12   |",
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|0    |on_time|1      |0    |",
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|1    |late   |2      |9    |",
    ],
    "firing.retraction": [
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|+I    |1      |",
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|-U    |1      |",
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|+U    |2      |",
        "|{2013-03-09 18:00:00, 2013-03-09 19:00:00}|5      |",
    ],
    "firing.evictors": [
        "|JFK   |{2013-03-09 00:00:00, 2013-03-10 00:00:00}|2      |82.5 |",
        "|EWR   |{2013-03-10 00:00:00, 2013-03-11 00:00:00}|1      |-2.0 |",
    ],
    "watermarks.late_rows": [
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|1      |",
        (
            "|LGA   |N3KAAA|2013-03-09 18:45:00|9    |late  |"
            "[{2013-03-09 18:00:00, 2013-03-09 19:00:00}]|2013-03-09 23:40:00|"
        ),
        "rows late: 1",
    ],
    "watermarks.time_policy": [
        # An hour before the flight at 03:15, which is 01:15, as clocks skip an hour.
        "|LGA   |2013-03-09 18:45:00|2013-03-10 01:15:00|[out_of_order]|dropped    |",
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|1      |",
        "|   LGA|2013-03-09 18:45:00|out_of_order|",
    ],
    "watermarks.idle_timeout": [
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|2      |",
        "|LGA   |{2013-03-11 06:00:00, 2013-03-11 07:00:00}|1      |",
    ],
    "functions.routes": ["|N505JB|{2013-03-09 18:05:00, 2013-03-10 08:20:00}|JFK JFK JFK|7    |"],
    # The roots of 5 * 12 * 30 * 25 * 140 * 9, and of 11 * 4.
    "functions.udaf": [
        "|{2013-03-09 00:00:00, 2013-03-10 00:00:00}|6      |19.6|",
        "|{2013-03-10 00:00:00, 2013-03-11 00:00:00}|2      |6.6 |",
    ],
    "functions.state": [
        "|JFK   |{2013-03-09 00:00:00, 2013-03-10 00:00:00}|1  |140  |4             |",
        "|JFK   |{2013-03-10 00:00:00, 2013-03-11 00:00:00}|2  |11   |8             |",
        "|LGA   |{2013-03-11 00:00:00, 2013-03-12 00:00:00}|2  |-1   |3             |",
    ],
}


# Programs without SQL beside them, because only Python has functions over windows.
ONLY_PYTHON = {"functions.routes", "functions.state", "functions.udaf"}
# Runs the examples whose names it reads. Their sessions share a JVM, so that only one starts. The
# views of the SQL beside an example are compared with its DataFrames in its session.
RUNNER = """
import runpy, sys
from pathlib import Path
from unittest.mock import patch
from pyspark.sql import SparkSession
from tests.end_to_end.support.twins import check_twin
for line in sys.stdin:
    name = line.strip()
    with patch.object(SparkSession, "stop"):
        names = runpy.run_module(f"examples.{name}", run_name="__main__")
    path = Path("examples", *name.split(".")).with_suffix(".sql")
    for text in path.read_text(encoding="utf-8").split(";\\n") if path.exists() else ():
        if text.strip():
            check_twin(names["spark"], text.strip(), names)
            print("SQL has the same rows")
    names["spark"].stop()
    print("the end", flush=True)
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    skip_in_connect(Reason.PROCESS)
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.communicate(timeout=60)


def run(folder: Path, *arguments: str) -> str:
    skip_in_connect(Reason.PROCESS)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_script_is_run_here() -> None:
    folder = ROOT / "examples"
    scripts = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.glob("*/*.py")
        if path.stem != "__init__" and path.parent.name != "demo"
    }
    assert scripts == set(EXAMPLES)
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", "flights"}


def test_the_list_of_examples_names_each_program() -> None:
    folder = ROOT / "examples"
    page = (folder / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)]+)\)", page)
    assert [link for link in linked if not (folder / link).exists()] == []
    paths = {name: name.replace(".", "/") for name in EXAMPLES}
    programs = {f"{path}.py" for path in paths.values()}
    programs |= {f"{path}.sql" for name, path in paths.items() if name not in ONLY_PYTHON}
    notebooks = {f"notebooks/{path.name}" for path in folder.glob("notebooks/*.ipynb")}
    assert set(linked) == programs | notebooks | {"dbt/README.md", "demo", "flights.py"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_is_there_for(runner: subprocess.Popen[str], name: str) -> None:
    assert runner.stdin is not None
    assert runner.stdout is not None
    runner.stdin.write(f"{name}\n")
    runner.stdin.flush()
    lines = (line.rstrip("\n") for line in runner.stdout)
    printed = list(takewhile("the end".__ne__, lines))
    wanted = [*EXAMPLES[name], *(() if name in ONLY_PYTHON else ("SQL has the same rows",))]
    assert [line for line in wanted if line not in printed] == [], "\n".join(printed)


def test_what_the_readme_points_to_is_there() -> None:
    links = re.findall(r"\]\((?!https:)([^)]+)\)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    # An anchor names a heading of the page.
    assert [link for link in links if not (ROOT / link.split("#")[0]).exists()] == []


@pytest.mark.skipif(not LONG, reason="takes a minute: run by make check-long")
def test_the_demo_gives_what_batch_queries_give(tmp_path: Path) -> None:
    build = tmp_path / "demo"
    printed = run(ROOT, "-m", "examples.demo", "--build", str(build), "--since", "2013-12-31T14:00")
    assert re.search(r"hours: [1-9]\d* in windows \+ [1-9]\d* late \+ ", printed)
    assert "differs" not in printed
    assert (build / "flights.png").stat().st_size > 10_000
    for folder in ("hours", "sessions", "days", "late/hours"):
        assert list((build / folder).glob("batch=*/*.parquet"))
    heading, *tips = printed.splitlines()[-4:]
    assert heading == "What to try next:"
    named = re.findall(r"[\w/]+\.(?:py|md)|(?<=-m )[\w.]+", "\n".join(tips))
    files = [name if "/" in name else f"{name.replace('.', '/')}.py" for name in named]
    assert len(files) == 3
    assert [file for file in files if not (ROOT / file).exists()] == []
