"""The figures of ``benchmarks.real_time``, from results that are made up."""

import pytest

from benchmarks.real_time.__main__ import completed, gaps, latencies

S = 1_000_000
# Rows of two partitions, in microseconds.
SENT = [[100_000, 900_000, S + 2_000, 2 * S], [200_000, S + 5_000, 2 * S + 1_000]]


def test_a_window_is_complete_with_the_largest_count_of_its_last_key() -> None:
    found = [(5, "1000000,1,a"), (7, "1000000,2,a"), (8, "1000000,2,a"), (6, "1000000,1,b")]
    assert completed(found) == {S: (3, 7)}
    assert completed([]) == {}


def test_times_count_from_the_end_and_from_the_row_that_closes_the_last_partition() -> None:
    figures = latencies({S: (3, S + 30_000)}, SENT, [S], from_last_row=False)
    assert figures == pytest.approx(
        {
            "p50_ms": 30,
            "p90_ms": 30,
            "p99_ms": 30,
            "p50_closing_ms": 25,
            "p90_closing_ms": 25,
            "p99_closing_ms": 25,
            "longest_ms": 30,
            "longest_closing_ms": 25,
            "short_windows": 0,
        }
    )


def test_times_of_running_counts_count_from_the_last_row() -> None:
    figures = latencies({S: (3, 910_000)}, SENT, [S], from_last_row=True)
    assert figures == pytest.approx(
        {"p50_ms": 10, "p90_ms": 10, "p99_ms": 10, "longest_ms": 10, "short_windows": 0}
    )


def test_the_longest_time_is_that_of_one_window() -> None:
    results = {S: (3, S + 30_000), 2 * S: (2, 2 * S + 70_000)}
    sent = [[*SENT[0], 3 * S], [*SENT[1], 3 * S]]
    figures = latencies(results, sent, [S, 2 * S], from_last_row=False)
    assert (figures["p50_ms"], figures["longest_ms"]) == pytest.approx((50, 70))


def test_a_window_with_missing_rows_is_short() -> None:
    assert latencies({S: (2, 910_000)}, SENT, [S, 2 * S], from_last_row=False) == {
        "short_windows": 2
    }


def test_a_gap_is_the_time_without_a_result_around_a_commit() -> None:
    arrivals = [9_000, 1_000, 4_500, 4_000, 9_500]
    assert gaps(arrivals, [2_000, 5_000]) == [3.0, 4.5]


def test_a_commit_before_the_first_result_or_after_the_last_has_no_gap() -> None:
    assert gaps([3_000, 9_000], [2_000, 5_000, 10_000]) == [6.0]
    assert gaps([], [2_000]) == []
