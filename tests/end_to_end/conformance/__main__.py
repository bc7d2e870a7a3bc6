"""``python -m tests.end_to_end.conformance --vectors DIR --level LEVEL`` runs vectors.

The level "query" runs all vectors below a folder as queries in Python, and "sql" runs them as
queries in SQL. The level "real-time" runs them as queries in Real-Time Mode, which needs PySpark
4.3. The command prints a line for each vector that fails or that no query expresses, then the
counts. The exit code is 1 if a vector failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import transom
from tests.end_to_end.conformance import (
    atlas,
    azure,
    finished,
    flink,
    flink_vectors,
    punctuation,
    real_time,
)
from tests.end_to_end.conformance.languages import LANGUAGES, Language
from tests.end_to_end.conformance.outcomes import UnsupportedError
from tests.end_to_end.support.file_system import with_quick_files
from tests.end_to_end.support.real_time import IS_SUPPORTED, REASON, SHORTEST_BATCH
from tests.end_to_end.support.sessions import INTERPRETED

Problem = Callable[[SparkSession, dict[str, Any]], str | None]

# The function that runs the vectors of each model. The vectors of Flink name no model.
MODELS: dict[str | None, Callable[[SparkSession, dict[str, Any], Language], str | None]] = {
    None: flink.problem,
    "asa.pipeline": azure.problem,
    "asa.time_policy": azure.problem,
    "asa.window": finished.problem,
    "atlas.fixed": atlas.problem,
    "atlas.session": atlas.problem,
    "si.advance_time": punctuation.problem_of_violations,
    "si.cti_propagation": punctuation.problem_of_propagation,
    "si.window": finished.problem,
}


def in_micro_batches(language: Language) -> Problem:
    """The function that runs a vector as a query in micro-batches."""
    return lambda spark, vector: MODELS[vector.get("model")](spark, vector, language)


@dataclass(frozen=True)
class Level:
    """How vectors become queries.

    Attributes
    ----------
    problem : callable
        Runs a vector. Returns the first difference to the expected output, or None.
    queries : int
        How many queries run at the same time.
    slots : int
        How many tasks run at the same time.
    """

    problem: Problem
    # A query over few rows uses one core.
    queries: int = 2
    slots: int = 2


LEVELS = {name: Level(in_micro_batches(language)) for name, language in LANGUAGES.items()}
# Such a query always has two tasks, which mostly wait for the end of the batch.
LEVELS["real-time"] = Level(real_time.problem, queries=6, slots=12)


def session(level: Level) -> SparkSession:
    """A session for many small queries."""
    builder = (
        SparkSession.builder.master(f"local[{level.slots}]")
        .appName("transom conformance")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        # Over so few rows, Spark would spend more time on compiling code than the code saves.
        .config(map=dict(INTERPRETED))
        # Real-time queries set this too. With the same value here, several may run at once.
        .config(map=dict(SHORTEST_BATCH))
    )
    spark = transom.configure(with_quick_files(builder)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def needs_clock(vector: dict[str, Any]) -> bool:
    """Whether a vector moves the wall clock."""
    match vector.get("model"):
        case None:
            return vector.get("kind") == "operator" and flink_vectors.needs_clock(vector)
        case "atlas.fixed" | "atlas.session":
            return atlas.needs_clock(vector)
        case _:
            return azure.has_clock(vector)


def run(spark: SparkSession, vector: dict[str, Any], problem: Problem) -> tuple[str, str | None]:
    """Run a vector. Returns how it went, and the reason."""
    try:
        found = problem(spark, vector)
    except UnsupportedError as reason:
        return "skipped", str(reason)
    except Exception as error:  # noqa: BLE001 - a failing vector must not end the run
        found = f"it cannot be run: {type(error).__name__}: {error}"
    return "failed" if found else "passed", found


def main() -> int:
    """Run all vectors below a folder. Returns 1 if a vector fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--level", choices=LEVELS, required=True)
    arguments = parser.parse_args()
    folder: Path = arguments.vectors
    name: str = arguments.level
    level = LEVELS[name]
    if name == "real-time" and not IS_SUPPORTED:
        parser.error(REASON)
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    counts = Counter({"passed": 0, "failed": 0, "skipped": 0})
    spark = session(level)

    def report(path: Path, outcome: tuple[str, str | None]) -> None:
        how, reason = outcome
        counts[how] += 1
        if reason:
            print(f"{name} {how.replace('failed', 'FAILED')} {path}: {reason}", flush=True)

    vectors = {
        path.relative_to(folder): json.loads(path.read_text())
        for path in sorted(folder.rglob("*.json"))
    }
    if not vectors:
        parser.error(f"{folder} has no *.json files")
    clocked = [path for path, vector in vectors.items() if needs_clock(vector)]
    others = [path for path in vectors if path not in clocked]
    with ThreadPoolExecutor(max_workers=level.queries) as pool:
        outcomes = pool.map(lambda path: run(spark, vectors[path], level.problem), others)
        for path, outcome in zip(others, outcomes, strict=True):
            report(path, outcome)
    # A query gets its clock when it starts, so no other query may start at the same time.
    for path in clocked:
        report(path, run(spark, vectors[path], level.problem))
    print(f"{name}: " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
