"""Runs the vectors of a folder at one level or at all.

``python -m tests.conformance.run FOLDER engine|query|sql|real-time|all`` prints a line for each
failure and each skipped vector, then the counts. The level "engine" runs the engine alone, "query"
runs queries in Python, and "sql" runs queries in SQL. "all" means these three. The level
"real-time" runs queries in Real-Time Mode, which needs PySpark 4.3. The exit code is 1 if a vector
failed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

LEVELS = ("engine", "query", "sql")
REAL_TIME = "real-time"


def command(level: str, vectors: Path) -> list[str]:
    """The command of one level."""
    if level == "engine":
        main = "transom.engine.conformance.Main"
        return ["./sbt", "--error", f'engine/Test/runMain {main} --vectors "{vectors}"']
    module = "tests.end_to_end.conformance"
    return [sys.executable, "-m", module, "--vectors", str(vectors), "--level", level]


def run(level: str, vectors: Path) -> tuple[bool, str]:
    """Run one level, and return whether all vectors passed, and the counts."""
    counts = f"{level}: did not come to an end"
    with subprocess.Popen(command(level, vectors), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(f"{level}: "):
                counts = line.rstrip()
            else:
                print(line, end="", flush=True)
    return process.returncode == 0, counts


def main() -> int:
    """Run the levels on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("level", choices=[*LEVELS, REAL_TIME, "all"])
    arguments = parser.parse_args()
    vectors = arguments.vectors.resolve()
    if not vectors.is_dir():
        parser.error(f"{vectors} is not a folder")
    levels = LEVELS if arguments.level == "all" else (arguments.level,)
    outcomes = [run(level, vectors) for level in levels]
    for _, counts in outcomes:
        print(counts)
    return 0 if all(well for well, _ in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
