"""The watermark among the metrics of the plan, as Spark's UI shows them."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import transom
from tests.end_to_end.support.queries import run_stream
from tests.end_to_end.support.sessions import Reason, skip_in_connect

TEN = transom.Tumbling(size="10 seconds")


def shown(
    spark: SparkSession,
    time: transom.typing.Time,
    start: datetime,
    metric: str,
    layout: transom.typing.Layout = "slices",
) -> list[list[int]]:
    """A metric in each batch, of each node of the plan that has it, the outermost first."""
    found: list[list[int]] = []

    def keep(rows: DataFrame, _: int) -> None:
        rows.count()
        (query,) = spark.streams.active
        node = query._jsq.streamingQuery().lastExecution().executedPlan()
        found.append([])
        while not node.children().isEmpty():
            if node.nodeName() == "KeyGroupOutputs":
                found[-1].append(int(node.metrics().apply(metric).value()))
            node = node.children().head()

    def pipeline(rows: DataFrame) -> DataFrame:
        windows = transom.stream(rows, time=time).window(TEN).options(layout=layout)
        return windows.agg(n=F.count("*"))

    batches = [[(start + timedelta(minutes=minute),)] for minute in range(3)]
    run_stream(spark, pipeline, "time timestamp", batches, writer=keep)
    return found


@pytest.fixture(autouse=True)
def _classic() -> None:
    skip_in_connect(Reason.JVM)


@pytest.mark.parametrize("layout", ["slices", "keyed"])
def test_the_windows_and_the_time_stage_have_the_watermark(
    spark: SparkSession, layout: transom.typing.Layout
) -> None:
    start = datetime(2024, 1, 1)
    event_time = transom.EventTime("time", delay="0 seconds")
    # The first batch has no watermark.
    windows = [number for (number,) in shown(spark, event_time, start, "watermark", layout)]
    assert [number > 0 for number in windows] == [False, True, True, True]
    policy = transom.TimePolicy("time")
    for windows_and_stage in shown(spark, policy, start, "watermark", layout):
        assert len(windows_and_stage) == 2
        assert min(windows_and_stage) > 0


def test_a_number_below_0_is_shown_as_0(spark: SparkSession) -> None:
    event_time = transom.EventTime("time", delay="0 seconds")
    before_1970 = shown(spark, event_time, datetime(1965, 1, 1), "watermark")
    assert {number for (number,) in before_1970} == {0}
    ahead = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=5)
    delays = shown(spark, event_time, ahead, "watermark_delay")
    assert {number for (number,) in delays} == {0}
    assert before_1970
    assert delays
