"""A damaged file of the spec in the checkpoint gives one error, which names it and the remedy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from transom.windowed import Windowed

SCHEMA = "key string, time timestamp, value int"
Step = Callable[[Windowed], Windowed]


def pipeline(step: Step) -> Callable[[DataFrame], DataFrame]:
    def of(rows: DataFrame) -> DataFrame:
        clock = transom.EventTime("time", delay="0 seconds")
        windows = transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling("1 hour"))
        return step(windows).agg(F.sum("value").alias("total"))

    return of


def run(spark: SparkSession, folder: Path, hour: int, step: Step) -> list[int]:
    batches = [[("a", datetime(2024, 1, 1, hour), hour)]]
    outcome = run_stream(spark, pipeline(step), SCHEMA, batches, checkpoint=folder)
    return [row["total"] for row in outcome.results]


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def of_zeros(file: Path) -> None:
    file.write_bytes(b"\x00" * 100)


def another_value(file: Path) -> None:
    file.write_text("[1, 2]")


def followed(file: Path) -> None:
    file.write_text(file.read_text() + "{}")


def without(*path: str) -> Callable[[Path], None]:
    def remove(file: Path) -> None:
        record = json.loads(file.read_text())
        node = record
        for name in path[:-1]:
            node = node[name]
        del node[path[-1]]
        file.write_text(json.dumps(record))

    return remove


def with_value(name: str, value: object) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))

    return change


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": truncated,
    "empty": emptied,
    "zeros": of_zeros,
    "a list": another_value,
    "two values": followed,
    "deleted": Path.unlink,
    "no spec": without("spec"),
    "no columns": without("columns"),
    "no state": without("state"),
    "too few columns": with_value("columns", []),
    "a text as spec": with_value("spec", "spec"),
    "another operator": with_value("operator", "other"),
    "a state of numbers": with_value("state", [1]),
}
STEPS: dict[str, Step] = {
    "slices": lambda w: w,
    "keyed": lambda w: w.options(layout="keyed"),
    "drain": lambda w: w.drain(),
}


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of queries that have an open window."""
    folder = tmp_path_factory.mktemp("begun")
    for name in ("slices", "keyed"):
        assert run(spark, folder / name, 1, STEPS[name]) == []
    return folder


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_a_damaged_spec_is_named_with_its_remedy_and_a_copy_of_it_helps(
    spark: SparkSession, begun: Path, tmp_path: Path, damage: str, layout: str
) -> None:
    # A copied input would be read as new files.
    shutil.copytree(begun / layout / "checkpoint", tmp_path / "checkpoint")
    file = tmp_path / "checkpoint" / "transom" / "window.json"
    kept = file.read_bytes()
    (file.parent / ".window.json.crc").unlink()
    DAMAGES[damage](file)

    text = (
        r"TRANSOM_SPEC_DAMAGED\] The file .*/checkpoint/transom/window\.json .*"
        r"Restore this file .* from a copy.*delete the checkpoint"
    )
    with pytest.raises(StreamingQueryException, match=text) as caught:
        run(spark, tmp_path, 3, STEPS[layout])
    assert "com.fasterxml" not in str(caught.value)

    file.write_bytes(kept)
    assert run(spark, tmp_path, 5, STEPS[layout]) == [1, 3]


def test_a_clock_that_is_added_over_a_damaged_spec_gives_the_same_error(
    spark: SparkSession, begun: Path, tmp_path: Path
) -> None:
    shutil.copytree(begun / "slices" / "checkpoint", tmp_path / "checkpoint")
    file = tmp_path / "checkpoint" / "transom" / "window.json"
    (file.parent / ".window.json.crc").unlink()
    truncated(file)
    with pytest.raises(StreamingQueryException, match="TRANSOM_SPEC_DAMAGED"):
        run(spark, tmp_path, 3, STEPS["drain"])
