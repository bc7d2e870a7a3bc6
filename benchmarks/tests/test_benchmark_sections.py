"""Sections of the page on performance, with made-up records."""

import math
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import reading, sections, targets
from benchmarks.record import Measurement, Run
from benchmarks.tests.made_up import measured, record


def with_heap(query: str, peer: str, heap_gb: int, seconds: float, **more: Any) -> Measurement:
    suffix, parameters = (f"-{heap_gb}-gb-heap", {"heap_gb": heap_gb}) if heap_gb != 4 else ("", {})
    one = measured(query + suffix, peer, parameters={"keys": 10} | parameters, **more)
    return replace(one, runs=(Run(seconds=seconds, peak_memory_bytes=1_500_000_000),))


def test_peers_are_compared_at_the_same_heap_within_the_newest_record() -> None:
    old = record(1, with_heap("q", "transom", 1, 9))
    gone = measured("q-1-gb-heap", "native", parameters={"heap_gb": 1}, failed="ran out of memory")
    new = record(
        2,
        with_heap("q", "native", 2, 8),
        gone,
        *(with_heap("q", "transom", heap, seconds) for heap, seconds in ((1, 4), (2, 2), (4, 1))),
    )
    shown = sections.memory([old, new, record(3, measured("q", "transom", 7))])
    assert "| query | peer | heap of 1 GB | heap of 2 GB | heap of 4 GB | commit |" in shown
    ours = [f"{speed} rows/s, peak 1,500 MB" for speed in ("250,000", "500,000", "1,000,000")]
    assert f"| q | transom | {' | '.join(ours)} | `commit2` |" in shown
    assert "| q | native | ran out of memory | 125,000 rows/s, peak 1,500 MB |  |" in shown
    assert shown.count("| q |") == 2


def test_fewer_rows_of_a_peer_are_said_beside_its_ratio() -> None:
    ours = measured("tumbling-10k", "transom", 1)
    few = measured("tumbling-10k", "python", 4, rows=100_000)
    cells = targets.table([record(1, ours, few, measured("tumbling-10k", "native", 4))])
    assert cells["tumbling-10k"]["native"].fewer_rows == ""
    note = cells["tumbling-10k"]["python"].fewer_rows
    assert note == " (100,000 rows against transom's 1,000,000)"


def test_without_other_heaps_the_page_does_not_compare_them() -> None:
    assert sections.memory([record(1, measured("q", "transom", 7))]) == ""


@pytest.mark.parametrize(
    ("error", "shown"),
    [(0.125, "5.0%"), (0.25, "10.0%"), (0.3, "**noise**, 12%"), (math.nan, "**noise**, unknown")],
)
def test_a_loop_whose_error_exceeds_a_tenth_of_its_score_is_noise(error: float, shown: str) -> None:
    figures = {"score": 2.5, "error": error, "alloc_bytes_per_op": 8.0}
    loop = measured("jmh/Merge.fold(2)", "transom", parameters={"unit": "us/op"}, figures=figures)
    assert f" | {shown} | us/op | 8 |" in sections.loops(reading.newest([record(1, loop)]))


def test_a_backlog_has_its_cpu_time_or_what_went_wrong() -> None:
    figures = {"cpu_s": 4.0, "seconds": 3.0, "rows_a_cpu_second": 250_000.0}
    given = {"keys": 10}
    taken = record(
        1,
        measured("backlog/kafka", "transom", parameters=given, figures=figures),
        measured("backlog/kafka", "native", parameters=given, failed="counted 7 rows"),
    )
    shown = sections.backlog(reading.newest([taken]))
    assert "| transom | 1,000,000 | 4 | 250,000 | keys 10 | `commit1` |" in shown
    assert "| native | 1,000,000 | counted 7 rows |  | keys 10 | `commit1` |" in shown
    assert sections.backlog(reading.newest([record(1, measured("q", "transom", 7))])) == ""


def test_gaps_have_their_percentiles_or_what_went_wrong() -> None:
    figures = {"gaps": 40, "p10_ms": 1.0, "p50_ms": 2.0, "p90_ms": 3.0, "longest_ms": 4.0}
    given = {"keys": 10}
    taken = record(
        1,
        measured("gaps/kafka", "a", parameters=given, figures=figures),
        measured("gaps/kafka", "b", parameters=given, failed="no result"),
    )
    shown = sections.gaps(reading.newest([taken]))
    assert "| a | 40 | 1 | 2 | 3 | keys 10 | `commit1` |" in shown
    assert "| b | no result |  |  |  | keys 10 | `commit1` |" in shown
    assert sections.gaps(reading.newest([record(1, measured("q", "transom", 7))])) == ""


def test_a_latency_shows_the_figures_it_has_or_what_went_wrong() -> None:
    figures = {"p50_ms": 6.0, "p99_ms": 7.0, "longest_ms": 8.0}
    closing = {"p50_closing_ms": 1.0, "p99_closing_ms": 2.0}
    given = {"keys": 10}
    taken = record(
        1,
        measured("latency/kafka", "a", parameters=given, figures={**figures, **closing}),
        measured("latency/kafka-running-counts", "b", parameters=given, figures=figures),
        measured("latency/kafka", "c", parameters=given, failed="9 windows are short"),
    )
    shown = sections.latency(reading.newest([taken]), lambda *_: "")
    assert "| kafka | a | 6 | 7 | 8 | 1 | 2 | keys 10 | `commit1` |" in shown
    assert "| kafka-running-counts | b | 6 | 7 | 8 |  |  | keys 10 | `commit1` |" in shown
    assert "| kafka | c | 9 windows are short |  |  |  |  | keys 10 | `commit1` |" in shown


def test_a_line_does_not_join_other_heaps() -> None:
    def point(keys: int, heap_gb: int) -> Measurement:
        given = {"shape": "t", "keys": keys, "heap_gb": heap_gb}
        return measured(f"t-{keys}-{heap_gb}-gb-heap", "transom", 1, parameters=given)

    apart = record(1, point(10, 1), point(20, 2))
    assert reading.lines([apart], "keys") == []
    together = record(1, point(10, 1), point(20, 1), point(30, 2))
    (line,) = reading.lines([together], "keys")
    assert (line.name, list(line.points["transom"])) == ("t by keys, heap gb 1", [10, 20])
