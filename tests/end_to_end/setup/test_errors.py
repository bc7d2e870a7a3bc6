"""A mistake raises an error where it is made, with its condition and argument."""

import re
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkAttributeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.sessions import Reason, is_connect, skip_in_connect
from tests.python.conditions import raises

HOUR = transom.Tumbling(size="1 hour")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", datetime(2024, 1, 1), 1)], "k string, t timestamp, v int")


@pytest.fixture(scope="module")
def streaming(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().withColumn("v", F.lit(1))


def test_agg_needs_aggregates(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    with raises("NO_AGGREGATE", "aggregates"):
        windowed.agg()
    with raises("BAD_TYPE", "aggregates"):
        windowed.agg("v")  # type: ignore[arg-type]
    with raises("UNKNOWN_COLUMN", "aggregates"):
        windowed.agg(F.sum("w"))


@pytest.mark.parametrize("name", ["window", "Pane", "change", "lifetime", "window_id"])
def test_names_of_result_columns_are_reserved(rows: DataFrame, name: str) -> None:
    with raises("RESERVED_NAME", "aggregates"):
        transom.stream(rows, time="t").window(HOUR).agg(F.sum("v").alias(name))


def test_a_key_may_not_be_called_as_a_column_of_ours_beside_it(rows: DataFrame) -> None:
    def keyed(name: str) -> transom.Windowed:
        return transom.stream(rows, time="t").key_by(F.col("k").alias(name)).window(HOUR)

    assert keyed("pane").agg(F.sum("v")).columns[0] == "pane"
    with raises("RESERVED_NAME", "keys"):
        keyed("Pane").with_pane().agg(F.sum("v"))
    with raises("RESERVED_NAME", "keys"):
        keyed("change").allowed_lateness("1 hour").retract().agg(F.sum("v"))


def test_a_key_may_not_be_called_window(rows: DataFrame) -> None:
    by_window = transom.stream(rows, time="t").key_by(F.col("k").alias("window"))
    with raises("RESERVED_NAME", "keys"):
        by_window.window(HOUR).agg(F.sum("v"))
    with raises("RESERVED_NAME", "keys") as caught:
        transom.stream(rows, time="t").key_by(F.window("t", "1 hour")).window(HOUR).agg(F.sum("v"))
    assert str(caught.value).endswith("are no key: write window(transom.Tumbling('1 hour')).")


def test_two_columns_of_a_result_may_not_have_the_same_name(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").key_by("k").window(HOUR)
    with raises("DUPLICATE_NAME"):
        windowed.agg(F.sum("v").alias("K"))
    with raises("DUPLICATE_NAME"):
        windowed.agg(F.sum("v").alias("total"), total=F.max("v"))
    with raises("DUPLICATE_NAME"):
        windowed.with_late_rows().agg(F.sum("v").alias("k"))
    with raises("DUPLICATE_NAME"):
        transom.stream(rows, time="t").key_by("k", "k").window(HOUR).agg(F.sum("v"))
    with raises("DUPLICATE_NAME", "keys"):
        keyed = transom.stream(rows, time="t").key_by("k", F.col("v").alias("K"))
        keyed.window(HOUR).apply(lambda rows: rows, "n int")


def test_columns_must_be_there(rows: DataFrame) -> None:
    with raises("UNKNOWN_COLUMN", "time"):
        transom.stream(rows, time="departed")
    with raises("UNKNOWN_COLUMN", "time"):
        transom.stream(rows, time=F.col("departed"))
    with raises("UNKNOWN_COLUMN", "keys"):
        transom.stream(rows, time="t").key_by("k", "origin")
    with raises("BAD_TYPE", "keys"):
        transom.stream(rows, time="t").key_by(1)  # type: ignore[arg-type]
    with raises("BAD_TYPE", "df"):
        transom.stream("rows", time="t")  # type: ignore[arg-type]


def test_a_time_must_be_a_timestamp(rows: DataFrame) -> None:
    with raises("NOT_A_TIMESTAMP", "time"):
        transom.stream(rows, time="v")


@pytest.mark.parametrize("name", ["__transom_time", "__Transom_key_0"])
def test_columns_may_not_be_called_as_hidden_ones(
    rows: DataFrame, streaming: DataFrame, name: str
) -> None:
    for df in (rows, streaming):
        with raises("RESERVED_NAME", "df") as caught:
            transom.stream(df.withColumnRenamed("v", name))
        assert repr(name) in str(caught.value)


def test_all_but_one_of_parallel_operators_need_a_name(streaming: DataFrame) -> None:
    windowed = transom.stream(streaming, time=transom.EventTime("timestamp", delay="1 second"))
    count = F.count("*").alias("rows")
    hours = windowed.window(HOUR).agg(count)
    # Spark raises this error when the two are united.
    with pytest.raises(AnalysisException, match="metric name is not unique: window"):
        assert hours.union(windowed.window(HOUR).agg(count)).isStreaming
    hours.union(windowed.window(HOUR).options(name="others").agg(count))


def test_windows_need_a_clock_and_global_a_trigger(rows: DataFrame) -> None:
    untimed = transom.stream(rows)
    with raises("NO_CLOCK", "window"):
        untimed.window(HOUR)
    results = transom.stream(rows, time="t").window(HOUR).agg(F.sum("v"))
    with raises("NO_CLOCK", "window") as caught:
        transom.stream(results).window(HOUR)
    assert "write stream(df, time='window')" in str(caught.value)
    with raises("BAD_TYPE", "window"):
        untimed.window("1 hour")  # type: ignore[arg-type]
    forever = untimed.window(transom.Global())
    with raises("NEEDS_TRIGGER"):
        forever.agg(F.sum("v"))
    with raises("NOT_EVENT_TIME", "lateness"):
        forever.allowed_lateness("1 hour")
    with raises("BAD_TYPE", "trigger"):
        forever.trigger("end")  # type: ignore[arg-type]


@pytest.mark.usefixtures("spark")
def test_values_with_columns_are_equal_if_their_columns_read_the_same() -> None:
    assert transom.When(F.col("v") > 1) == transom.When(F.col("v") > 1)
    assert transom.When(F.col("v") > 1) != transom.When(F.col("v") > 2)
    assert transom.Session(gap=F.col("pause")) == transom.Session(gap=F.col("pause"))
    assert len({transom.Custom(windows=F.col("w")), transom.Custom(windows="w")}) == 1


def test_the_wall_clock_needs_a_stream(rows: DataFrame, streaming: DataFrame) -> None:
    with raises("CLOCK_IN_BATCH", "time"):
        transom.stream(rows, time=transom.ProcessingTime())
    on_the_clock = transom.stream(streaming, time=transom.ProcessingTime()).window(HOUR)
    with raises("NO_CLOCK", "trigger"):
        on_the_clock.trigger(transom.Every("1 minute"))
    with raises("LAYOUT_UNSUPPORTED", kind=IllegalArgumentException):
        on_the_clock.options(layout="slices").agg(F.sum("v"))


def test_window_all_is_for_streams_without_keys(rows: DataFrame) -> None:
    stream = transom.stream(rows, time="t")
    with raises("KEYED", "window_all"):
        stream.key_by("k").window_all(HOUR)
    total = stream.window_all(HOUR).agg(F.sum("v").alias("v"))
    assert [row.v for row in total.collect()] == [1]
    assert stream.key_by().window_all(HOUR).agg(F.sum("v")).count() == 1


def test_a_step_is_taken_once_and_leaves_the_builder_as_it_was(rows: DataFrame) -> None:
    by_key = transom.stream(rows, time="t").key_by("k")
    with raises("SET_TWICE", "key_by"):
        by_key.key_by("v")
    windowed = by_key.window(HOUR)
    tagged = windowed.drain().allowed_lateness("0 seconds").options(name="hours").with_late_rows()
    with raises("SET_TWICE", "drain"):
        tagged.drain()
    with raises("SET_TWICE", "with_late_rows"):
        tagged.with_late_rows()
    with raises("SET_TWICE", "options"):
        tagged.options()
    with raises("SET_TWICE", "allowed_lateness"):
        tagged.allowed_lateness("0 seconds")
    assert windowed.agg(F.count("*").alias("n")).columns == ["k", "window", "n"]
    assert tagged.agg(F.count("*")).columns == ["tag", "results", "late"]


def test_an_operator_must_have_a_name_that_files_can_have(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").window(HOUR)
    for name in ("", "a/b", ".a", "a" * 101):
        with raises("BAD_NAME", "name"):
            windowed.options(name=name)


def test_only_our_operators_can_be_explained(rows: DataFrame) -> None:
    with raises("NOT_OURS", kind=IllegalArgumentException):
        transom.explain(rows)
    with raises("BAD_CHOICE", "mode"):
        transom.explain(rows, mode="html")  # type: ignore[arg-type]


def test_the_output_mode_complete_is_refused_with_the_text_on_the_page(
    streaming: DataFrame, tmp_path: Path
) -> None:
    by_time = transom.stream(streaming, time=transom.EventTime("timestamp", delay="1 second"))
    counts = by_time.window(HOUR).agg(n=F.count("*"))
    writer = counts.writeStream.format("noop").outputMode("complete")
    with pytest.raises(AnalysisException) as caught:
        writer.option("checkpointLocation", str(tmp_path)).start()
    condition = caught.value.getCondition()
    assert condition == "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
    page = Path(__file__).parents[3] / "docs/troubleshooting.md"
    (text,) = re.findall(rf"^\[{condition}\] .*$", page.read_text(), re.MULTILINE)
    assert str(caught.value).startswith(text)


def test_operators_of_one_name_side_by_side_fail_with_the_text_on_the_page(
    streaming: DataFrame,
) -> None:
    skip_in_connect(Reason.NAMES)

    def counts(size: str) -> DataFrame:
        clock = transom.EventTime("timestamp", delay="1 second")
        windows = transom.stream(streaming, time=clock).window(transom.Tumbling(size))
        return windows.agg(n=F.count("*"))

    with pytest.raises(AnalysisException) as caught:
        counts("1 hour").union(counts("2 hours"))
    page = Path(__file__).parents[3] / "docs/troubleshooting.md"
    (text,) = re.findall(r"^\[DUPLICATED_METRICS_NAME\] .*$", page.read_text(), re.MULTILINE)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("step", ["trigger", "retract", "with_late_rows"])
def test_spark_knows_no_step_after_agg(rows: DataFrame, step: str) -> None:
    counts = transom.stream(rows, time="t").window(HOUR).agg(n=F.count("*"))
    # A Connect session takes the name for that of a column, and Python cannot call a column.
    error = TypeError if is_connect() else PySparkAttributeError
    text = "'Column' object is not callable" if is_connect() else "ATTRIBUTE_NOT_SUPPORTED"
    with pytest.raises(error, match=text):
        getattr(counts, step)()


def test_an_aggregate_gets_its_name_from_its_keyword(rows: DataFrame) -> None:
    windowed = transom.stream(rows, time="t").key_by("k").window(transom.Tumbling("1 hour"))
    counts = windowed.agg(F.sum("v").alias("total"), n=F.count("*"), top=F.max("v"))
    assert counts.columns == ["k", "window", "total", "n", "top"]
    assert [tuple(row)[2:] for row in counts.collect()] == [(1, 1, 1)]
    with raises("RESERVED_NAME", "aggregates"):
        windowed.agg(window=F.count("*"))
    # A method has these parameters, and they are names like any other.
    assert windowed.agg(self=F.count("*"), aggregates=F.max("v")).columns[2:] == [
        "self",
        "aggregates",
    ]


def test_a_builder_prints_its_columns_as_spark_does(rows: DataFrame) -> None:
    by_key = transom.stream(rows, time=F.col("t")).key_by("k", F.upper("k"))
    assert repr(by_key) == (
        "stream(df, time=EventTime(time=Column<'t'>)).key_by('k', Column<'upper(k)'>)"
    )
