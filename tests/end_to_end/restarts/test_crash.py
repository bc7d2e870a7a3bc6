"""Spark is killed in the middle of batches: results equal the results of a whole run."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.programs.run import run
from tests.end_to_end.support.queries import Outcome, add_batch, parse_schema, run_stream
from tests.end_to_end.windows.test_against_a_model import (
    SCHEMA,
    WINDOWS,
    as_input,
    counted,
    generated,
    late_of,
    shown,
)
from transom.spec import Layout

LAYOUTS: list[Layout] = ["slices", "keyed"]
PLACES = {"files": ["input", "results"], "batches": ["before sink", "after sink", "results"]}


@dataclass(frozen=True)
class Case:
    """A query, and the places and batches in which it is killed."""

    window: str
    sink: str
    kills: list[tuple[str, int]]
    seed: int = 5
    layout: Layout = "auto"


def some_case(seed: int) -> Case:
    chosen = random.Random(seed)
    sink = chosen.choice(list(PLACES))
    places = [(place, batch) for place in PLACES[sink] for batch in range(1, 5)]
    kills = sorted(chosen.sample(places, 4), key=lambda kill: kill[1])
    window, layout = chosen.choice(list(WINDOWS)), chosen.choice(LAYOUTS)
    # The keyed layout takes rows in order of arrival, which may decide which session a late row
    # joins.
    return Case(window, sink, kills, seed, "auto" if "sessions" in window else layout)


CASES = [
    Case("sessions", "batches", [("results", 2)]),
    # Batch 2 is killed twice: a batch may also fail when it is replayed.
    Case("sessions", "batches", [("after sink", 1), ("results", 2), ("before sink", 2)]),
    Case("hopping", "files", [("input", 1), ("results", 2), ("results", 5)]),
    Case("hopping", "batches", [("results", 2), ("after sink", 3)], layout="keyed"),
    *(some_case(seed) for seed in range(6)),
]


def live(folder: Path, case: Case) -> int:
    """Run the query once, and return the exit code of the process."""
    done = run("crashing", folder, case.window, case.sink, case.layout)
    assert done.returncode == 0 or list(folder.glob("killed-*")), done.stdout + done.stderr
    return done.returncode


@pytest.mark.skipif(not LONG, reason="starts many JVMs: run by make check-long")
@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: ", ".join((case.window, case.sink, case.layout, str(case.seed)))
)
def test_kills_in_the_middle_of_batches_change_nothing(
    spark: SparkSession, tmp_path: Path, case: Case
) -> None:
    batches = generated(case.seed)
    for batch in as_input(batches):
        add_batch(tmp_path / "input", batch, parse_schema(SCHEMA))
    (tmp_path / "kills.json").write_text(json.dumps(case.kills))

    for number in range(len(case.kills)):
        assert live(tmp_path, case) != 0
        assert len(list(tmp_path.glob("killed-*"))) == number + 1
    assert live(tmp_path, case) == 0

    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    outcome = Outcome(
        [row["results"] for row in rows if row["tag"] == "results"],
        [row["late"] for row in rows if row["tag"] == "late"],
        [],
        {},
    )
    window, expected_of = WINDOWS[case.window]
    expected, expected_late = expected_of(batches)
    assert shown(outcome) == Counter(expected)
    assert late_of(outcome) == Counter(expected_late)
    uninterrupted = run_stream(spark, counted(window), SCHEMA, as_input(batches))
    assert shown(outcome) == shown(uninterrupted)
    assert late_of(outcome) == late_of(uninterrupted)
