"""Runs one query like `flink_once`, by PyFlink's DataStream API with an aggregate in Python."""

import json
import sys
from typing import Any

from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from pyflink.table import StreamTableEnvironment

from benchmarks.peers.flink_source import environment, events, sink, timed

COLUMNS = "k {key}, `start` BIGINT, `end` BIGINT, n BIGINT, s DOUBLE"
WATERMARK_DELAY = Duration.of_seconds(5)


class EventTime(TimestampAssigner):  # type: ignore[misc]
    """Reads the time of a row, in milliseconds, from its column in microseconds."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:  # noqa: ARG002
        """Return the time of a row."""
        milliseconds: int = value[1] // 1000
        return milliseconds


class Totals(AggregateFunction):  # type: ignore[misc]
    """Rows and the sum of their values."""

    def create_accumulator(self) -> tuple[int, float]:
        """Return the accumulator of no rows."""
        return 0, 0.0

    def add(self, value: Any, accumulator: tuple[int, float]) -> tuple[int, float]:
        """Add a row."""
        return accumulator[0] + 1, accumulator[1] + value[2]

    def get_result(self, accumulator: tuple[int, float]) -> tuple[int, float]:
        """Return the result of an accumulator."""
        return accumulator

    def merge(self, a: tuple[int, float], b: tuple[int, float]) -> tuple[int, float]:
        """Merge the accumulators of two sessions."""
        return a[0] + b[0], a[1] + b[1]


class WithWindow(ProcessWindowFunction):  # type: ignore[misc]
    """Puts key and window in front of the totals."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        """Yield one result. The bounds of the window are in microseconds."""
        window: TimeWindow = context.window()
        for n, s in elements:
            yield Row(key, window.start * 1000, window.end * 1000, n, s)


def assigner(window: dict[str, int | str]) -> WindowAssigner:
    """Return the window for its parameters in the catalogue."""
    lengths = {
        name: Time.milliseconds(length) for name, length in window.items() if name.endswith("_ms")
    }
    if window["window"] == "session":
        return EventTimeSessionWindows.with_gap(lengths["gap_ms"])
    if window["window"] == "hopping":
        return SlidingEventTimeWindows.of(lengths["size_ms"], lengths["slide_ms"])
    return TumblingEventTimeWindows.of(lengths["size_ms"])


def main() -> None:
    """Run the job on the command line."""
    job: dict[str, Any] = json.loads(sys.argv[1])
    env = environment(job)
    tables = StreamTableEnvironment.create(env)
    key = Types.STRING() if job["reads"]["k"] == "STRING" else Types.LONG()
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(WATERMARK_DELAY)
    # Python cannot read the rows of a JVM source, so the rows pass through a table.
    rows = tables.to_data_stream(tables.from_data_stream(events(env, job)))
    results = (
        rows.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(EventTime()))
        .key_by(lambda row: row[0], key_type=key)
        .window(assigner(job["window"]))
        .aggregate(
            Totals(),
            WithWindow(),
            accumulator_type=Types.TUPLE([Types.LONG(), Types.DOUBLE()]),
            output_type=Types.ROW_NAMED(
                ["k", "start", "end", "n", "s"],
                [key, Types.LONG(), Types.LONG(), Types.LONG(), Types.DOUBLE()],
            ),
        )
    )
    tables.execute_sql(
        f"CREATE TABLE results ({COLUMNS.format(key=job['reads']['k'])}) {sink(job)}"
    )
    print(json.dumps(timed(lambda: tables.from_data_stream(results).execute_insert("results"))))


if __name__ == "__main__":
    main()
