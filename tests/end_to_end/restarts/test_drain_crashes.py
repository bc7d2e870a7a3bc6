"""A query that crashes while it drains loses no window."""

from itertools import product
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession

import transom
from tests.end_to_end.models.draining import (
    SCHEMA,
    WINDOWS,
    at,
    batches,
    drained,
    in_order,
    phases,
    some_rows,
    static,
)
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import (
    add_batch,
    parse_schema,
    run_stream,
)


def run_into_files(spark: SparkSession, window: transom.Window, folder: Path) -> list[Row]:
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = (
        drained(window)(rows.parquet(str(folder / "input")))
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    return in_order(spark.read.parquet(str(folder / "out")).collect())


def as_if_crashed_before_the_commit_of(phase: str, folder: Path) -> None:
    """Undo a finished run, up to the state between two commits of the batch of a phase.

    The sink has committed this batch, and Spark has not.
    """
    logs = {"offsets": folder / "checkpoint", "commits": folder / "checkpoint"}
    logs["_spark_metadata"] = folder / "out"
    offsets = folder / "checkpoint" / "offsets"
    (crashed,) = (
        int(path.name)
        for path in offsets.glob("[0-9]*")
        if f'"{phase}"' in path.read_text(encoding="utf-8")
    )
    for log, parent in logs.items():
        kept = crashed - 1 if log == "commits" else crashed
        for path in (parent / log).glob("[0-9]*"):
            if int(path.name) > kept:
                path.unlink()
                (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("window", "phase"),
    product(["hopping", "session", "global"], ["ended", "fired"])
    if LONG
    else [("hopping", "ended"), ("session", "fired")],
)
def test_a_crash_after_the_sink_has_committed_loses_no_window(
    window: str, phase: str, spark: SparkSession, tmp_path: Path
) -> None:
    rows = some_rows()
    for batch in batches(rows):
        add_batch(tmp_path / "input", batch, parse_schema(SCHEMA))
    expected = static(spark, drained(WINDOWS[window]), rows)
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected
    as_if_crashed_before_the_commit_of(phase, tmp_path)
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected
    assert run_into_files(spark, WINDOWS[window], tmp_path) == expected


def test_a_sink_that_never_computes_the_control_row_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def ignore(rows: DataFrame, batch_id: int) -> None:
        pass

    # With this setting Spark itself would reject such a function.
    setting = "spark.sql.streaming.stateStore.commitValidation.enabled"
    spark.conf.set(setting, "false")
    try:
        with pytest.raises(StreamingQueryException, match=r"TRANSOM_CANNOT_DRAIN.*read all rows"):
            run_stream(
                spark,
                drained(WINDOWS["tumbling"]),
                SCHEMA,
                [[("a", at(1), 1)]],
                checkpoint=tmp_path,
                writer=ignore,
            )
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize("phase", ["open", "ended", "fired"] if LONG else ["ended"])
def test_a_crash_on_the_way_loses_no_window(
    phase: str, spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, rows = drained(WINDOWS["session"]), some_rows()
    kept = Kept()

    def keep_or_crash(results: DataFrame, batch_id: int) -> None:
        offsets = (tmp_path / "checkpoint" / "offsets" / str(batch_id)).read_text()
        if batch_id > 1 and f'"{phase}"' in offsets:
            raise OSError("pulled the plug")
        kept(results, batch_id)

    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        run_stream(
            spark,
            pipeline,
            SCHEMA,
            batches(rows),
            checkpoint=tmp_path,
            writer=keep_or_crash,
        )
    again = run_stream(spark, pipeline, SCHEMA, [], checkpoint=tmp_path)
    assert phases(again)[-1] == "fired"
    assert in_order(kept.rows + again.results) == static(spark, pipeline, rows)


def test_a_run_that_only_finds_the_firing_undone_does_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, rows = drained(WINDOWS["global"]), some_rows()
    kept, fired = Kept(), Kept()
    offsets = tmp_path / "checkpoint" / "offsets"

    def crash_at_last(results: DataFrame, batch_id: int) -> None:
        if '"fired"' in (offsets / str(batch_id)).read_text():
            raise OSError("pulled the plug")
        kept(results, batch_id)

    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        run_stream(
            spark, pipeline, SCHEMA, batches(rows), checkpoint=tmp_path, writer=crash_at_last
        )
    # As if the crash had come between the two last batches.
    last = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
    for path in (offsets / str(last), offsets / f".{last}.crc"):
        path.unlink()
    with pytest.raises(StreamingQueryException, match=r"TRANSOM_DRAINED"):
        run_stream(
            spark,
            pipeline,
            SCHEMA,
            [],
            checkpoint=tmp_path,
            available_now=False,
            writer=fired,
        )
    assert in_order(kept.rows + fired.rows) == static(spark, pipeline, rows)
