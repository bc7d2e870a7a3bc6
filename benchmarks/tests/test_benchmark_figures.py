"""Figures other than the times of runs: latencies, and JMH scores."""

import pytest

from benchmarks import engine, latency

SECOND = 1_000_000


def test_a_result_is_there_with_its_last_line() -> None:
    arrivals = [
        (1 * SECOND, 60, 1_300_000),
        (2 * SECOND, 100, 2_100_000),
        (1 * SECOND, 40, 1_500_000),
        (3 * SECOND, 7, 3_100_000),
    ]
    assert latency.latencies(arrivals, [1 * SECOND, 2 * SECOND], rows=100) == [500, 100]


@pytest.mark.parametrize("counted", [0, 99, 101])
def test_a_window_that_counts_other_rows_has_no_latency(counted: int) -> None:
    with pytest.raises(ValueError, match=f"1 windows counted {counted} rows or more, not 100"):
        latency.latencies([(SECOND, counted, 2 * SECOND)], [SECOND], rows=100)


@pytest.mark.parametrize("line", ["5000000 20", "+I[5000000, 20]", "2> +I[5000000, 20]"])
def test_a_line_says_a_window_and_its_rows(line: str) -> None:
    match = latency.LINE.fullmatch(line)
    assert match is not None
    assert match.groups() == ("5000000", "20")


def test_a_benchmark_of_jmhs_is_named_by_its_loop_and_parameters() -> None:
    given = {
        "benchmark": "transom.benchmarks.SliceLogBenchmark.minute",
        "params": {"shape": "hopping-60-1"},
        "primaryMetric": {"score": 2.5, "scoreError": "NaN", "scoreUnit": "ms/op"},
        "secondaryMetrics": {"gc.alloc.rate.norm": {"score": 4096.5}},
    }
    kept = engine.measurement(given)
    assert kept.query == "jmh/SliceLog.minute(hopping-60-1)"
    assert kept.parameters["unit"] == "ms/op"
    assert (kept.figures["score"], kept.figures["alloc_bytes_per_op"]) == (2.5, 4096.5)
