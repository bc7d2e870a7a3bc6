"""`route`: results and late rows each have their own writer."""

import shutil
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.kept import Kept
from tests.end_to_end.support.queries import Batch, Writer, in_the_plan, run_stream
from tests.end_to_end.support.sessions import Reason, is_connect, skip_in_connect
from tests.python.conditions import raises

SCHEMA = "key string, second long"
LATE = [
    "row",
    "reason",
    "missed_windows",
    "missed_windows_truncated",
    "time",
    "watermark",
    "operator",
    "query",
    "processed_at",
]
BATCHES: list[Batch] = [
    [("a", 1), ("a", 2), ("b", 3), (None, 4)],
    [("a", 12), ("b", 30)],
    # This batch fires windows up to 30. Its rows are late by the watermark of the batch before.
    [("b", 41)],
    # This batch has results and late rows.
    [("a", 5), ("b", 6), ("b", 45), ("a", 7)],
]


def at(second: int) -> datetime:
    return datetime(1970, 1, 1, 0, 0, second)


def counts(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
    windows = (
        transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling(size="10 seconds"))
    )
    return windows.with_late_rows().agg(F.count("*").alias("n"))


def plain(rows: DataFrame) -> DataFrame:
    clock = transom.EventTime(F.timestamp_seconds("second"), delay="0 seconds")
    windows = (
        transom.stream(rows, time=clock).key_by("key").window(transom.Tumbling(size="10 seconds"))
    )
    return windows.agg(F.count("*").alias("n"))


def twice(writer: Writer) -> Writer:
    """A writer that reads its rows twice."""

    def write(rows: DataFrame, batch_id: int) -> None:
        rows.count()
        writer(rows, batch_id)

    return write


def test_calls_by_hand_write_each_dataframe(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", 1)], "key string, second int")
    kept = Kept()
    to_writers = transom.route(results=kept, late=kept)
    for _ in range(2):
        to_writers(counts(rows), 0)
    assert kept.batches == [0, 0]


def test_each_writer_gets_its_rows_and_the_counts_are_exact(
    spark: SparkSession, tmp_path: Path
) -> None:
    results, late = Kept(), Kept(fails_at=3)
    to_writers = transom.route(results=twice(results), late=twice(late))
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        run_stream(spark, counts, SCHEMA, BATCHES, checkpoint=tmp_path, writer=to_writers)
    outcome = run_stream(spark, counts, SCHEMA, [], checkpoint=tmp_path, writer=to_writers)

    # A writer is called for batches with rows of its tag. The batch that failed had written its
    # results before. They are not written again, unless the writers run in another process.
    assert results.batches == ([2, 3, 3] if is_connect() else [2, 3])
    assert late.batches == [3, 3]
    # A batch that is written again replaces itself.
    rows = [row for batch in results.by_batch.values() for row in batch]
    assert sorted((row["key"] or "", row["window"]["start"], row["n"]) for row in rows) == [
        ("", at(0), 1),
        ("a", at(0), 2),
        ("a", at(10), 1),
        ("b", at(0), 1),
        ("b", at(30), 1),
    ]
    # A late row has the columns of the input, without the computed time.
    assert {tuple(row["row"].__fields__) for row in late.rows} == {("key", "second")}
    assert sorted(tuple(row["row"]) for row in late.rows) == [("a", 5), ("a", 7), ("b", 6)]
    assert {row["reason"] for row in late.rows} == {"late"}
    assert {(row["time"], row["watermark"]) for row in late.rows} == {
        (at(second), at(30)) for second in (5, 6, 7)
    }
    assert [row["missed_windows"] for row in late.rows] == [[Row(start=at(0), end=at(10))]] * 3
    # The second run begins with the batch that failed. Its writers each read it twice.
    assert outcome.observed()["transom_rows_in"] == 4
    assert outcome.observed()["transom_rows_late"] == 3


def test_writers_are_called_again_after_a_return_to_an_older_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    results, late = Kept(), Kept()
    to_writers = transom.route(results=results, late=late)
    checkpoint, older = tmp_path / "checkpoint", tmp_path / "older"
    run_stream(spark, counts, SCHEMA, BATCHES[:2], checkpoint=checkpoint, writer=to_writers)
    shutil.copytree(checkpoint, older)
    run_stream(spark, counts, SCHEMA, BATCHES[2:], checkpoint=checkpoint, writer=to_writers)
    before = len(results.batches)
    shutil.rmtree(checkpoint)
    older.rename(checkpoint)
    run_stream(spark, counts, SCHEMA, [[("c", 50)]], checkpoint=checkpoint, writer=to_writers)
    again = results.rows[-1]
    # The batch has the id of a batch that the writer has finished, and other rows.
    assert len(results.batches) > before
    assert results.batches[-1] <= max(results.batches[:before])
    assert (again["key"], again["window"]["start"], again["n"]) == ("b", at(30), 1)


def test_a_route_remembers_the_batches_of_each_query(spark: SparkSession, tmp_path: Path) -> None:
    if is_connect():
        pytest.skip("each run of a query has a copy of the route")
    results = Kept()
    to_writers = transom.route(results=results, late=Kept(fails_at=3))
    first, second = tmp_path / "first", tmp_path / "second"
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        run_stream(spark, counts, SCHEMA, BATCHES, checkpoint=first, writer=to_writers)
    run_stream(spark, counts, SCHEMA, BATCHES, checkpoint=second, writer=to_writers)
    # The last batch of the first query has written its results, but not its late rows.
    run_stream(spark, counts, SCHEMA, [], checkpoint=first, writer=to_writers)
    assert results.batches == [2, 3, 2, 3]


def test_two_actions_on_a_batch_count_its_rows_once(spark: SparkSession) -> None:
    def count_twice(rows: DataFrame, _: int) -> None:
        rows.count()
        rows.count()

    outcome = run_stream(spark, counts, SCHEMA, BATCHES, writer=count_twice)
    assert outcome.observed()["transom_rows_in"] == 11
    assert outcome.observed()["transom_rows_late"] == 3


def test_the_plan_counts_the_late_rows_of_a_batch_once(spark: SparkSession) -> None:
    late_by_batch: dict[int, int] = {}

    def count_late(rows: DataFrame, batch_id: int) -> None:
        rows.count()
        late_by_batch[batch_id] = in_the_plan(spark, "KeyGroupOutputs", "rows_late")

    skip_in_connect(Reason.JVM)
    to_writers = transom.route(results=Kept(), late=twice(count_late))
    run_stream(spark, counts, SCHEMA, BATCHES, writer=to_writers)
    assert late_by_batch == {3: 3}


def test_a_tag_without_rows_writes_no_files(spark: SparkSession, tmp_path: Path) -> None:
    def save(name: str) -> transom.typing.Writer:
        return lambda rows, batch_id: rows.write.json(f"{tmp_path}/{name}/batch={batch_id}")

    writer = transom.route(results=save("results"), late=save("late"))
    run_stream(spark, counts, SCHEMA, BATCHES[:3], writer=writer)
    # No window fires in the first two batches.
    assert {folder.name for folder in (tmp_path / "results").iterdir()} == {"batch=2", "batch=3"}
    assert not (tmp_path / "late").exists()


def test_tagged_rows_are_split_whatever_the_order_of_their_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A sink partitioned by ``tag`` gives the tag as the last column."""
    tagged = counts(spark.createDataFrame(BATCHES[0], SCHEMA))
    tagged.write.partitionBy("tag").parquet(str(tmp_path / "tagged"))
    stored = spark.read.parquet(str(tmp_path / "tagged"))
    assert stored.columns == ["results", "late", "tag"]
    assert transom.untag(stored, "results").columns == ["key", "window", "n"]
    assert sorted(row["n"] for row in transom.untag(stored, "results").collect()) == [1, 1, 2]
    # No row is late, so the files do not have this partition.
    assert transom.untag(stored, "late").columns == LATE
    assert transom.untag(stored, "late").isEmpty()


def test_late_rows_have_the_documented_columns(spark: SparkSession) -> None:
    late = transom.untag(counts(spark.createDataFrame(BATCHES[0], SCHEMA)), "late")
    assert late.columns == LATE
    described = transom.Windowed.with_late_rows.__doc__ or ""
    assert [name for name in LATE if f"``{name}``" not in described] == []


def test_rows_that_are_not_tagged_are_refused(spark: SparkSession) -> None:
    rows = spark.createDataFrame(BATCHES[0], SCHEMA)
    with raises("NOT_TAGGED"):
        transom.route(results=Kept())(plain(rows), 0)
    with raises("NOT_TAGGED"):
        transom.untag(plain(rows), "results")
    with pytest.raises(StreamingQueryException, match="TRANSOM_NOT_TAGGED"):
        run_stream(spark, plain, SCHEMA, BATCHES[:1], writer=transom.route(results=Kept()))


def test_a_tag_without_a_writer_is_refused(spark: SparkSession) -> None:
    tagged = counts(spark.createDataFrame(BATCHES[0], SCHEMA))
    with raises("ROUTE_MISSING", "late"):
        transom.route(results=Kept())(tagged, 0)
    with raises("UNKNOWN_TAG"):
        transom.untag(tagged, "early")
    # All tagged rows have results.
    with raises("ROUTE_MISSING", "results"):
        transom.route(result=Kept(), late=Kept())
    with raises("UNKNOWN_TAG", "route") as caught:
        transom.route(results=Kept(), lates=Kept())(tagged, 0)
    assert "'lates'" in str(caught.value)
    assert "'results', 'late'" in str(caught.value)


def test_a_static_result_is_tagged_as_well(spark: SparkSession) -> None:
    tagged = counts(spark.createDataFrame(BATCHES[0], SCHEMA))
    assert sorted(row["n"] for row in transom.untag(tagged, "results").collect()) == [1, 1, 2]
    assert transom.untag(tagged, "late").collect() == []
