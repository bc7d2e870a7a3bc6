"""Flows of pipelines, whose columns are not known before the pipeline runs."""

from typing import Any

import pytest
from pyspark.errors import PySparkValueError
from pyspark.sql.types import DataType, LongType, StructField, StructType

import transom
from tests.python.conditions import raises
from tests.python.unbound import RowsOfFlow

FLOW = RowsOfFlow(StructType())
HOUR = transom.Tumbling(size="1 hour")
NUMBER = StructType([StructField("n", LongType())])


@pytest.mark.parametrize(
    "time",
    [
        "at",
        transom.EventTime("at", delay="1 minute"),
        transom.ProcessingTime(),
        transom.TimePolicy("at", arrival="arrived", partition="p"),
        transom.TimePolicy("at", over=["k"]),
    ],
)
def test_steps_need_no_columns(time: Any) -> None:
    stream = transom.stream(FLOW, time=time, order="n").key_by("k")
    for window in (transom.Tumbling(size="1 hour"), transom.Session(gap="1 minute")):
        stream.window(window).with_late_rows()


def test_lifetimes_need_no_columns() -> None:
    life = transom.Lifetime("end", id=["id"], timeout="1 hour")
    transom.stream(FLOW, time="at", lifetime=life).key_by("k").window(transom.Snapshot())


def first(rows: Any) -> Any:
    return rows


@pytest.mark.parametrize(
    "call",
    [
        lambda stream: stream.scan(lambda rows, _: rows, "n long", state=NUMBER),
        lambda stream: stream.window(HOUR).apply(first, "n long"),
    ],
    ids=["scan", "apply"],
)
def test_a_schema_as_text_is_refused(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataType, "fromDDL", lambda _: FLOW.schema)
    with raises("PIPELINE_UNSUPPORTED", argument="schema", kind=PySparkValueError):
        call(transom.stream(FLOW, time="at"))
