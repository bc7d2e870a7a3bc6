"""The example scripts, the demo and the README's example run and print what they should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"

# The lines of each script's output that show its subject.
EXAMPLES = {
    "hopping": [
        "|JFK   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|2      |12   |",
        "|JFK   |{2013-03-09 18:30:00, 2013-03-09 19:30:00}|1      |12   |",
    ],
    "sessions": ["|N505JB|{2013-03-09 18:05:00, 2013-03-10 08:20:00}|3      |1       |"],
    "functions": ["|N505JB|{2013-03-09 18:05:00, 2013-03-10 08:20:00}|JFK JFK JFK|7    |"],
    "calendar_days": ["|{2013-03-10 00:00:00, 2013-03-11 00:00:00}|5      |2.6  |23.0 |"],
    "late_rows": [
        "|LGA   |{2013-03-09 18:00:00, 2013-03-09 19:00:00}|1      |",
        (
            "|LGA   |N3KAAA|2013-03-09 18:45:00|9    |late  |"
            "[{2013-03-09 18:00:00, 2013-03-09 19:00:00}]|2013-03-09 23:40:00|"
        ),
        "rows late: 1",
    ],
    "chaining": ["|{2013-03-09 00:00:00, 2013-03-10 00:00:00}|3         |209  |"],
}


def run(folder: Path, *arguments: str) -> str:
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
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert scripts - {"__init__", "flights"} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_is_there_for(name: str) -> None:
    printed = run(ROOT, "-m", f"examples.{name}").splitlines()
    assert [line for line in EXAMPLES[name] if line not in printed] == []


def test_the_example_of_the_readme_prints_what_the_readme_says(tmp_path: Path) -> None:
    code, output = re.search(
        r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    ).groups()  # type: ignore[union-attr]
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    assert run(tmp_path, "example.py").strip() == output.strip()


def test_what_the_readme_points_to_is_there() -> None:
    links = re.findall(r"\]\((?!https:)([^)]+)\)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    # An anchor names a heading of the page.
    assert [link for link in links if not (ROOT / link.split("#")[0]).exists()] == []


def test_the_demo_gives_what_batch_queries_give(tmp_path: Path) -> None:
    build = tmp_path / "demo"
    printed = run(ROOT, "-m", "examples.demo", "--build", str(build), "--since", "2013-12-31T14:00")
    assert re.search(r"hours: [1-9]\d* in windows \+ [1-9]\d* late \+ ", printed)
    assert "differs" not in printed
    assert (build / "flights.png").stat().st_size > 10_000
    for folder in ("hours", "sessions", "days", "late/hours"):
        assert list((build / folder).glob("batch=*/*.parquet"))
