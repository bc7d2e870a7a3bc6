"""Spark is killed while a time policy judges rows: dead letters and counts stay the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.models.streams import LONG
from tests.end_to_end.policies.test_accounting import (
    ACCEPTING,
    SCHEMA,
    in_batches,
    inputs,
    placed,
    windowed,
)
from tests.end_to_end.support.programs.run import run
from tests.end_to_end.support.queries import add_batch, parse_schema, run_stream

PLACES = [
    (place, batch)
    for place in ("input", "before sink", "results", "after sink")
    for batch in range(3)
]
KILLS = 3
SEEDS = range(6)

pytestmark = pytest.mark.skipif(not LONG, reason="starts many JVMs: run by make check-long")


def live(folder: Path) -> int:
    """Run the query once, and return the exit code of the process."""
    done = run("accounting", folder)
    assert done.returncode == 0 or list(folder.glob("killed-*")), done.stdout + done.stderr
    return done.returncode


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_change_no_dead_letter_and_no_count(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    rows = inputs(chosen)
    batches = in_batches(rows, chosen)
    for batch in batches:
        add_batch(tmp_path / "input", batch, parse_schema(SCHEMA))
    kills = sorted(chosen.sample(PLACES, KILLS), key=lambda kill: kill[1])
    (tmp_path / "kills.json").write_text(json.dumps(kills))

    for number in range(KILLS):
        assert live(tmp_path) != 0
        assert len(list(tmp_path.glob("killed-*"))) == number + 1
    assert live(tmp_path) == 0

    delivered = Counter(
        (id_, row["place"])
        for row in spark.read.parquet(str(tmp_path / "out")).collect()
        for id_ in row["ids"]
    )
    counts: Counter[str] = Counter()
    for file in (tmp_path / "counts").iterdir():
        counts.update(json.loads(file.read_text()))

    whole = run_stream(spark, lambda read: windowed(read, ACCEPTING), SCHEMA, batches)
    assert counts == whole.observed()
    assert delivered == Counter((id_, row["place"]) for row in whole.results for id_ in row["ids"])
    expected, _ = placed(rows, ACCEPTING)
    assert delivered == Counter(
        (id_, place) for id_, place in expected.items() if place != "gap" and id_ != rows[-1].id
    )
