"""The commands in the README of the dbt project, in an environment that has dbt."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import transom
from tests.end_to_end.connect.servers import without_remote

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples" / "dbt"
PAGE = (PROJECT / "README.md").read_text("utf-8")
# Made by `make test-dbt`.
PROGRAMS = ROOT / "build" / "dbt" / "environment" / "bin"

# By the rules of windows, from the rows in seeds/flights.csv.
HOURS = [
    ["EWR", "2013-03-09 18:00:00", "1", "-3"],
    ["EWR", "2013-03-09 21:00:00", "1", "30"],
    ["JFK", "2013-03-09 18:00:00", "2", "12"],
    ["JFK", "2013-03-09 21:00:00", "1", "25"],
    ["JFK", "2013-03-09 23:00:00", "1", "140"],
    ["LGA", "2013-03-09 18:00:00", "1", "0"],
]
TRIPS = [
    ["N14228", "2013-03-09 18:55:00", "2013-03-09 21:45:00", "2"],
    ["N3KAAA", "2013-03-09 18:20:00", "2013-03-09 18:20:00", "1"],
    ["N505JB", "2013-03-09 18:05:00", "2013-03-09 21:30:00", "2"],
    ["N721TW", "2013-03-09 18:40:00", "2013-03-09 18:40:00", "1"],
    ["N721TW", "2013-03-09 23:50:00", "2013-03-09 23:50:00", "1"],
]


def table_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_commands_of_the_readme_show_the_rows_of_the_readme(tmp_path: Path) -> None:
    assert PROGRAMS.is_dir(), "run this test by: make test-dbt"
    project = tmp_path / "dbt"
    made_by_dbt = shutil.ignore_patterns("target", "logs", "metastore_db", "spark-warehouse")
    shutil.copytree(PROJECT, project, ignore=made_by_dbt)

    def run(command: str) -> list[str]:
        """The table that a command of the page prints."""
        done = subprocess.run(
            shlex.split(command),
            cwd=project,
            env=without_remote()
            | {
                "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
                "TRANSOM_JAR": transom.jar_path(),
                "TZ": "UTC",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return table_of(done.stdout)

    assert "\ndbt build\n" in PAGE
    run("dbt build")
    shown = re.findall(r"```bash\n(dbt show [^\n]*)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    found = []
    for command, output in shown:
        lines = run(command)
        assert lines == table_of(output)
        found.append([[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]])
    assert found == [HOURS, TRIPS]
