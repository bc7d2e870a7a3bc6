"""The mistakes of a first hour: the error says what to write instead."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy
from pyspark.errors import PySparkAttributeError, PySparkTypeError
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

import transom
from tests.python.conditions import raises
from tests.python.unbound import Rows

DF = Rows(StructType([StructField("at", TimestampType()), StructField("k", StringType())]))
BY_TIME: Any = transom.stream(DF, time="at")
WINDOWED: Any = BY_TIME.window(transom.Tumbling("1 hour"))


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (lambda: BY_TIME.groupBy("k"), "groupBy", "key_by(...)"),
        (lambda: BY_TIME.keyBy("k"), "keyBy", "key_by(...)"),
        (
            lambda: BY_TIME.agg(),
            "agg",
            "window(transom.Tumbling('1 hour')).agg(n=F.count('*'))",
        ),
        (
            lambda: BY_TIME.count(),
            "count",
            "window(transom.Tumbling('1 hour')).agg(n=F.count('*'))",
        ),
        (
            lambda: BY_TIME.trigger(transom.EndOfStream()),
            "trigger",
            "window(transom.Tumbling('1 hour')).trigger(...)",
        ),
        (
            lambda: BY_TIME.writeStream,
            "writeStream",
            "window(transom.Tumbling('1 hour')).agg(n=F.count('*')).writeStream",
        ),
        (
            lambda: BY_TIME.withWatermark("at", "1 minute"),
            "withWatermark",
            "stream(df, time=transom.EventTime(..., delay='10 minutes'))",
        ),
        (
            lambda: WINDOWED.key_by("k"),
            "key_by",
            "stream(...).key_by(...).window(transom.Tumbling('1 hour'))",
        ),
        (
            lambda: WINDOWED.groupBy("k"),
            "groupBy",
            "stream(...).key_by(...).window(transom.Tumbling('1 hour'))",
        ),
        (lambda: BY_TIME.where("k = 'a'"), "where", "stream(df.where(...), time=...)"),
        (lambda: BY_TIME.select("k"), "select", "stream(df.select(...), time=...)"),
        (lambda: WINDOWED.count(), "count", "agg(n=F.count('*'))"),
        (lambda: WINDOWED.sum("delay"), "sum", "agg(F.sum(...))"),
        (lambda: WINDOWED.writeStream, "writeStream", "agg(n=F.count('*')).writeStream"),
        (lambda: WINDOWED.show(), "show", "agg(n=F.count('*')).show(...)"),
        (
            lambda: WINDOWED.window(transom.Tumbling("1 day")),
            "window",
            "window(transom.Windows({'hour': ..., 'day': ...})) for several windows",
        ),
        (
            lambda: WINDOWED.outputMode("append"),
            "outputMode",
            "agg(n=F.count('*')).writeStream.outputMode(...)",
        ),
        (
            lambda: BY_TIME.queryName("hours"),
            "queryName",
            "window(transom.Tumbling('1 hour')).agg(n=F.count('*')).writeStream.queryName(...)",
        ),
        (lambda: WINDOWED.sideOutputLateData(), "sideOutputLateData", "with_late_rows()"),
    ],
)
def test_a_name_of_another_place_or_library_is_explained(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("MISPLACED", argument, PySparkAttributeError) as caught:
        mistake()
    assert str(caught.value).endswith(f" Write {instead}.")


@pytest.mark.parametrize(
    ("mistake", "argument", "instead"),
    [
        (
            lambda: transom.stream(DF, "at"),  # type: ignore[call-arg]
            "argument 2 of stream",
            "a keyword, as in stream(df, time='at')",
        ),
        (
            lambda: transom.EventTime("at", "1 minute"),  # type: ignore[call-arg]
            "argument 2 of EventTime",
            "a keyword, as in EventTime('departed', delay='10 minutes')",
        ),
        (
            lambda: transom.AfterWatermark(transom.AfterCount(1)),  # type: ignore[call-arg]
            "argument 1 of AfterWatermark",
            "a keyword, as in AfterWatermark(early=AfterCount(10))",
        ),
        (
            lambda: BY_TIME.key_by(["k"]),
            "keys",
            "an argument for each key, as in key_by('origin', 'tail')",
        ),
    ],
)
def test_an_argument_without_its_keyword_is_explained(
    mistake: Callable[[], object], argument: str, instead: str
) -> None:
    with raises("BAD_TYPE", argument, PySparkTypeError) as caught:
        mistake()
    assert str(caught.value).endswith(f" Use {instead}.")


def test_a_size_alone_is_no_window() -> None:
    with raises("BAD_TYPE", "window", PySparkTypeError) as caught:
        BY_TIME.window("90 minutes")
    assert str(caught.value).endswith(" Use a window such as transom.Tumbling('90 minutes').")
    with raises("BAD_TYPE", "window", PySparkTypeError):
        BY_TIME.window("at")
    with raises("BAD_TYPE", "window", PySparkTypeError):
        BY_TIME.window(60)


def test_a_builder_is_no_dataframe() -> None:
    for function in (transom.explain, lambda builder: transom.untag(builder, "late")):
        with raises("BAD_TYPE", kind=PySparkTypeError) as caught:
            function(WINDOWED)
        assert str(caught.value).endswith(" Use a DataFrame, such as the result of agg().")


def test_a_number_is_no_size() -> None:
    with raises("BAD_TYPE", "size", PySparkTypeError) as caught:
        transom.Tumbling(60)  # type: ignore[arg-type]
    assert str(caught.value).endswith(" Use a string such as '60 seconds', or a timedelta.")


def test_text_is_no_time() -> None:
    with raises("NOT_A_TIMESTAMP", "time") as caught:
        transom.stream(DF, time="k")
    assert "type string" in str(caught.value)
    assert "F.to_timestamp" in str(caught.value)


@pytest.mark.parametrize("builder", [BY_TIME, WINDOWED])
def test_other_names_are_unknown_as_in_any_object(builder: Any) -> None:
    assert not hasattr(builder, "show")
    assert not hasattr(builder, "_repr_html_")
    with pytest.raises(AttributeError, match="no attribute 'colour'") as caught:
        builder.colour()
    assert not isinstance(caught.value, PySparkAttributeError)
    assert copy(builder)._df is DF


@pytest.mark.parametrize("builder", [transom.Stream, transom.Windowed])
def test_hints_are_for_names_that_the_builder_lacks(builder: type) -> None:
    assert [name for name in builder._hints if hasattr(builder, name)] == []  # type: ignore[attr-defined]


def test_type_checkers_report_unknown_names(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import transom\n"
        "def queries(stream: transom.Stream) -> None:\n"
        "    stream.groupBy('k')\n"
        "    stream.window(transom.Tumbling('1 hour')).writeStream\n"
        "    stream.window(transom.Tumbling(60))\n"
        "    stream.window(transom.Tumbling('1 hour')).trigger(processingTime=1)\n"
    )
    found, _, _ = mypy.run(["--strict", "--no-error-summary", str(program)])
    assert {line.split(":")[1] for line in found.splitlines()} == {"3", "4", "5", "6"}
    assert '"Stream" has no attribute "groupBy"' in found
