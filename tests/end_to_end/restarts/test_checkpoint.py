"""The spec in the checkpoint: a query with a changed spec is rejected."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.models.streams import LONG
from tests.end_to_end.support.queries import Writer, run_stream
from transom.stream import Stream
from transom.windowed import Windowed

SCHEMA = "key string, time timestamp, value int"


def at(second: int) -> datetime:
    return datetime(2024, 1, 1) + timedelta(seconds=second)


def unchanged(windowed: Windowed) -> Windowed:
    return windowed


TEN_SECONDS = transom.Tumbling(size="10 seconds")


@dataclass(frozen=True)
class Query:
    """A query, with the parts that a test may change."""

    time: Callable[[], Column | str] = lambda: "time"
    delay: str = "5 seconds"
    lifetime: transom.Lifetime | None = None
    order: tuple[str, ...] = ()
    keys: Callable[[Stream], Stream] = lambda stream: stream.key_by("key")
    window: transom.Window = TEN_SECONDS
    steps: Callable[[Windowed], Windowed] = unchanged
    aggregate: Callable[[], Column] = lambda: F.max_by("key", "value").alias("best")
    value_type: str = "int"

    def __call__(self, rows: DataFrame) -> DataFrame:
        rows = rows.withColumn("value", F.col("value").cast(self.value_type))
        clock = transom.EventTime(self.time(), delay=self.delay)
        stream = transom.stream(rows, time=clock, lifetime=self.lifetime, order=self.order)
        windowed = self.keys(stream).window(self.window)
        return self.steps(windowed).agg(self.aggregate())

    def run(
        self, spark: SparkSession, folder: Path, *seconds: int, writer: Writer | None = None
    ) -> list[Row]:
        batches = [[("a", at(second), second)] for second in seconds]
        return run_stream(spark, self, SCHEMA, batches, checkpoint=folder, writer=writer).results

    def explained(self, spark: SparkSession) -> str:
        return transom.explain(self(spark.createDataFrame([], SCHEMA)), mode="json")


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a query that has an open window."""
    folder = tmp_path_factory.mktemp("begun")
    assert Query().run(spark, folder, 1, 2) == []
    return folder


def copy_of(begun: Path, to: Path) -> Path:
    shutil.copytree(begun, to, dirs_exist_ok=True)
    # The log of the source names the original files. Copies would be read as new files.
    shutil.rmtree(to / "input")
    return to


def test_the_spec_lies_in_the_checkpoint(begun: Path, spark: SparkSession) -> None:
    (file,) = (begun / "checkpoint" / "transom").glob("[!.]*")
    assert file.name == "window.json"
    stored = json.loads(file.read_text())
    assert stored["operator"] == "window"
    assert stored["spec"]["window"]["size_us"] == 10_000_000
    assert [column["sql"] for column in stored["columns"]] == ["key", "time", "max_by(key, value)"]
    assert stored["columns"][2]["type"] == "STRING"
    assert stored["columns"][2]["reads"] == {"key": "STRING", "value": "INT"}
    (state,) = stored.pop("state")
    assert state["since_batch"] == 0
    kinds = {part["name"]: part["type"]["fields"] for part in state["schema"]["fields"]}
    assert [(key["name"], key["type"]) for key in kinds["keys"]] == [("key", "string")]
    assert [stored] == json.loads(Query().explained(spark))


CHANGES = {
    ("window.size", "10 seconds", "20 seconds"): Query(window=transom.Tumbling(size="20 seconds")),
    ("window.offset", "0 seconds", "5 seconds"): Query(
        window=transom.Tumbling(size="10 seconds", offset="5 seconds")
    ),
    ("window.time_zone", "UTC", "Europe/Rome"): Query(
        window=transom.Tumbling(size="10 seconds", time_zone="Europe/Rome")
    ),
    ("evictor", "none", r"\{.*keep_last.*\}"): Query(
        steps=lambda w: w.evictor(transom.KeepLast(1))
    ),
    ("lifetime", "none", r"\{.*\}"): Query(lifetime=transom.Lifetime(duration="1 second")),
    ("order", r"\[\]", r"\[value\]"): Query(order=("value",)),
    ("window.kind", "tumbling", "session"): Query(window=transom.Session(gap="20 seconds")),
    ("keys", r"\[key\]", r"\[key, value\]"): Query(keys=lambda s: s.key_by("key", "value")),
    ("key 1", "key", r"upper\(key\)"): Query(keys=lambda s: s.key_by(F.upper("key").alias("key"))),
    ("time.time", "time", r"CAST\(time \+ INTERVAL .*\)"): Query(
        time=lambda: F.expr("time + interval 1 second")
    ),
    ("aggregate 1", r"max_by\(key, value\)", r"min_by\(key, value\)"): Query(
        aggregate=lambda: F.min_by("key", "value").alias("best")
    ),
    ("type of value in aggregate 1", "INT", "BIGINT"): Query(value_type="bigint"),
    ("key_groups", "128", "64"): Query(steps=lambda w: w.options(key_groups=64)),
    ("drain", "false", "true"): Query(steps=lambda w: w.drain()),
    # Each of these needs the keyed layout, although the user has not chosen it.
    ("trigger.kind", "after_watermark", "after_count"): Query(
        steps=lambda w: w.trigger(transom.AfterCount(2))
    ),
    ("trigger.early", "none", r"\{.*after_count.*\}"): Query(
        steps=lambda w: w.trigger(transom.AfterWatermark(early=transom.AfterCount(2)))
    ),
    ("allowed_lateness", "0 seconds", "1 second"): Query(
        steps=lambda w: w.allowed_lateness("1 second")
    ),
    ("pane", "false", "true"): Query(steps=lambda w: w.with_pane()),
    ("retract", "false", "true"): Query(steps=lambda w: w.retract()),
    ("output_policy", "none", "point_align_to_window_end"): Query(
        steps=lambda w: w.output_policy("point_align_to_window_end")
    ),
    ("layout", "slices", "keyed"): Query(steps=lambda w: w.options(layout="keyed")),
    ("name", "window", "other"): Query(steps=lambda w: w.options(name="other")),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_spec_is_refused_and_the_field_named(
    change: tuple[str, str, str], begun: Path, spark: SparkSession, tmp_path: Path
) -> None:
    def refuse(_: DataFrame, batch_id: int) -> None:
        raise AssertionError(f"batch {batch_id} has been handed on")

    folder = copy_of(begun, tmp_path)
    field, before, after = change
    name = re.escape(field)
    text = f"TRANSOM_SPEC_CHANGED.* has {name} = {after}, but .* with {name} = {before}\\. "
    with pytest.raises(StreamingQueryException, match=text) as caught:
        CHANGES[change].run(spark, folder, 60, writer=refuse)
    assert caught.value.getCondition() == "STREAM_FAILED"
    # The rejected run has changed nothing. All changes are rejected at the same place.
    if LONG or change == next(iter(CHANGES)):
        assert [row["best"] for row in Query().run(spark, folder)] == ["a"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("settings", "steps", "field", "value"),
    [
        # These two need the wall clock, which Spark asks for before the first batch.
        ({"idle_partition": "1 minute"}, unchanged, "time.idle_partition", "1 minute"),
        ({}, lambda w: w.idle_timeout("1 minute"), "idle_timeout", "{.*1 minute.*}"),
        ({"late": transom.Drop("1 hour")}, unchanged, "time.late", "{.*drop.*}"),
        ({}, lambda w: w.first_output(at(0)), "first_output", "2024-01-01T00:00:00Z"),
        ({}, lambda w: w.with_watermarks(), "watermarks", "true"),
    ],
    ids=["idle_partition", "idle_timeout", "late", "first_output", "with_watermarks"],
)
def test_a_changed_policy_is_refused(
    spark: SparkSession,
    tmp_path: Path,
    settings: dict[str, Any],
    steps: Callable[[Windowed], Windowed],
    field: str,
    value: str,
) -> None:
    def by_partition(
        steps: Callable[[Windowed], Windowed] = unchanged, **settings: Any
    ) -> Callable[[DataFrame], DataFrame]:
        policy = transom.TimePolicy("time", partition="key", **settings)
        return lambda rows: steps(transom.stream(rows, time=policy).window(TEN_SECONDS)).agg(
            n=F.count("*")
        )

    def run(pipeline: Callable[[DataFrame], DataFrame]) -> None:
        run_stream(spark, pipeline, SCHEMA, [[("a", at(1), 1)]], checkpoint=tmp_path)

    run(by_partition())
    text = rf"TRANSOM_SPEC_CHANGED.* has {re.escape(field)} = {value}, but .* = (none|false)\. "
    with pytest.raises(StreamingQueryException, match=text):
        run(by_partition(steps, **settings))


def test_what_says_nothing_about_the_state_may_change(
    begun: Path, spark: SparkSession, tmp_path: Path
) -> None:
    folder = copy_of(begun, tmp_path)
    other = Query(
        delay="3 seconds",
        steps=lambda w: (
            w.options(tick="5 seconds", layout="slices", row_log=1)
            .with_late_rows()
            .with_dead_letters()
        ),
        aggregate=lambda: F.max_by("key", "value").alias("another"),
    )
    assert [row["another"] for row in other.run(spark, folder, 9, 60)] == ["a"]
    stored = json.loads((folder / "checkpoint" / "transom" / "window.json").read_text())
    assert stored["spec"]["tick_us"] == 5_000_000


def test_a_run_of_no_rows_is_accepted(begun: Path, spark: SparkSession, tmp_path: Path) -> None:
    folder = copy_of(begun, tmp_path)
    (folder / "input").mkdir()
    assert Query(window=transom.Tumbling(size="20 seconds")).run(spark, folder) == []
    assert [row["best"] for row in Query().run(spark, folder, 60)] == ["a"]


def test_spark_keeps_the_shuffle_partitions(
    begun: Path, spark: SparkSession, tmp_path: Path
) -> None:
    folder = copy_of(begun, tmp_path)
    setting = "spark.sql.shuffle.partitions"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, int(before) + 3)
    try:
        assert [row["best"] for row in Query().run(spark, folder, 60)] == ["a"]
    finally:
        spark.conf.set(setting, before)
    stores = {path.name for path in (folder / "checkpoint" / "state" / "0").glob("[0-9]*")}
    assert stores == {str(n) for n in range(int(before))}


def test_spark_refuses_another_kind_of_event_time(
    begun: Path, spark: SparkSession, tmp_path: Path
) -> None:
    def by_policy(rows: DataFrame) -> DataFrame:
        stream = transom.stream(rows, time=transom.TimePolicy("time")).key_by("key")
        return stream.window(TEN_SECONDS).agg(F.max_by("key", "value").alias("best"))

    folder = copy_of(begun, tmp_path)
    with pytest.raises(StreamingQueryException, match="OPERATOR_NOT_MATCH_IN_STATE_METADATA"):
        run_stream(spark, by_policy, SCHEMA, [[("a", at(60), 1)]], checkpoint=folder)


def test_a_spec_that_failed_from_the_start_may_be_corrected(
    spark: SparkSession, tmp_path: Path
) -> None:
    def failing() -> Column:
        return F.max(F.raise_error("no such value")).alias("best")

    with pytest.raises(StreamingQueryException, match="no such value"):
        Query(aggregate=failing).run(spark, tmp_path, 1)
    assert [row["best"] for row in Query().run(spark, tmp_path, 60)] == ["a"]


def test_a_store_other_than_rocksdb_is_refused_for_good(
    spark: SparkSession, tmp_path: Path
) -> None:
    setting = "spark.sql.streaming.stateStore.providerClass"
    provider = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, provider)
    # A checkpoint keeps its state store, so the setting of the session has no effect later.
    try:
        for _ in range(2):
            with pytest.raises(
                StreamingQueryException,
                match=f"TRANSOM_STATE_STORE.* is {provider}.* set {setting} to",
            ):
                Query().run(spark, tmp_path, 1)
            spark.conf.set(setting, before)
    finally:
        spark.conf.set(setting, before)
    assert not (tmp_path / "checkpoint" / "commits" / "0").exists()


def test_a_static_operator_inside_a_query_leaves_the_checkpoint_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    def windows(rows: DataFrame, batch_id: int) -> None:
        inner = rows.sparkSession.createDataFrame([("a", at(1), batch_id)], SCHEMA)
        assert Query()(inner).count() == 1

    run_stream(
        spark, lambda rows: rows, SCHEMA, [[("a", at(1), 1)]], checkpoint=tmp_path, writer=windows
    )
    assert not (tmp_path / "checkpoint" / "transom").exists()


def test_names_that_spark_numbers_are_no_change(spark: SparkSession) -> None:
    query = Query(
        aggregate=lambda: F.max(
            F.aggregate(F.array("value"), F.lit(0), lambda total, value: total + value)
        ).alias("best")
    )
    assert query.explained(spark) == query.explained(spark)
    assert "x1, x2)" in query.explained(spark)
