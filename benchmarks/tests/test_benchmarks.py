"""The descriptions of queries, and the translations of the peers."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.peers import flink_sql
from benchmarks.peers.compare import rows_of
from benchmarks.peers.table import PEERS, Job
from benchmarks.queries.__main__ import cost, cost_of_a_row
from benchmarks.queries.catalogue import QUERIES
from benchmarks.queries.data import (
    CLOSES_AFTER_MICROS,
    CLOSING_KEY,
    FIRST_EVENT_MICROS,
    MAX_LATENESS_MICROS,
    PARTITIONS,
    SMALL_BATCH_ROWS,
    Input,
)
from benchmarks.record import Measurement, Record, Run


def test_a_tumbling_window_reads_in_flink_as_its_length() -> None:
    assert flink_sql.select(QUERIES["tumbling-10k"]) == (
        "SELECT k, window_start, window_end, count(*) AS n, sum(v) AS s FROM TABLE("
        "TUMBLE(TABLE events, DESCRIPTOR(`at`), INTERVAL '10.000' SECOND(4, 3))) "
        "GROUP BY k, window_start, window_end"
    )


def test_flink_takes_the_slide_before_the_size() -> None:
    assert "INTERVAL '0.100' SECOND(4, 3), INTERVAL '60.000'" in flink_sql.select(
        QUERIES["overlap-600"]
    )


def test_sessions_are_by_key_in_flink() -> None:
    assert "SESSION(TABLE events PARTITION BY k," in flink_sql.select(QUERIES["session-10k"])


def test_rolling_windows_are_ranges_in_flink() -> None:
    # A window of 60 seconds is (end - 60 s, end], and both bounds of a range belong to it.
    assert flink_sql.select(QUERIES["rolling"]) == (
        "SELECT k, CAST(`at` - INTERVAL '60.000' SECOND(2, 3) AS TIMESTAMP(3)), "
        "CAST(`at` AS TIMESTAMP(3)), count(*) OVER rolling AS n, sum(v) OVER rolling AS s "
        "FROM events WINDOW rolling AS (PARTITION BY k ORDER BY `at` "
        "RANGE BETWEEN INTERVAL '59.999' SECOND(2, 3) PRECEDING AND CURRENT ROW)"
    )


def test_columns_of_results_follow_the_aggregates() -> None:
    assert flink_sql.columns(QUERIES["long-keys"]) == (
        "k STRING, `start` TIMESTAMP(3), `end` TIMESTAMP(3), n BIGINT, s DOUBLE"
    )
    assert flink_sql.columns(QUERIES["several-aggregates"]).endswith(
        "least DOUBLE, most DOUBLE, mean DOUBLE"
    )


@pytest.mark.parametrize("peer", ["transom", "flink-heap"])
def test_a_peer_gets_the_heap_that_is_named(peer: str) -> None:
    folder = Path("/unused")
    job = Job(
        name="tumbling-10k",
        input=folder,
        work=folder,
        files_per_batch=2,
        cores=2,
        heap_gb=1,
        write=False,
    )
    command = " ".join(PEERS[peer].command(job))
    assert "--heap 1" in command or "JVM_ARGS=-Xmx1g" in command


def test_parameters_say_what_a_query_varies() -> None:
    assert QUERIES["overlap-600"].parameters == {
        "window": "hopping",
        "keys": 1_000,
        "shape": "overlap",
        "size_ms": 60_000,
        "slide_ms": 100,
        "overlap": 600,
    }
    assert QUERIES["session-1m"].parameters["gap_ms"] == 2_000


@pytest.mark.parametrize("name", [name for name, query in QUERIES.items() if query.bench])
def test_what_transom_is_compared_with_takes_the_query(name: str) -> None:
    assert QUERIES[name].compared
    assert all(PEERS[peer].takes(QUERIES[name]) for peer in QUERIES[name].compared)


def test_peers_are_not_asked_for_what_they_cannot_do() -> None:
    def takes(name: str) -> set[str]:
        return {peer for peer in PEERS if PEERS[peer].takes(QUERIES[name])}

    special = {"applyInPandas", "event-time", "one-watermark", "one-minute", "three-queries"}
    over = {"flink-over-heap", "flink-over-rocksdb"}
    assert takes("tumbling-10k") == set(PEERS) - special - over
    assert takes("rolling") == {"transom", "python"} | over
    assert takes("lifetimes-1s") == {"transom", "batch"}
    limits = {"native", "pass-through", "batch"}
    assert takes("time-stage") == {"transom", "event-time"} | limits
    assert takes("session-early") == {"transom", "python"}
    assert takes("several-windows") == {"transom", "one-minute", "three-queries", "batch"}
    assert takes("session-function") == {"transom", "applyInPandas"}
    assert "batch" not in takes("late-rows")


@pytest.mark.parametrize(
    ("name", "peer"), [("count-100", "python"), ("session-function", "applyInPandas")]
)
def test_peers_in_python_get_all_rows_of_a_query_with_a_limit(name: str, peer: str) -> None:
    for rows in (200_000, 10_000_000):
        assert rows_of(name, peer, rows) == rows_of(name, "transom", rows) <= 1_000_000
    assert rows_of("tumbling-10k", "python", 200_000) == 20_000


def test_keys_of_count_100_have_their_hundredth_row(tmp_path: Path) -> None:
    query = QUERIES["count-100"]
    rows = rows_of("count-100", "python", 10_000_000)
    keys = pa.concat_tables(_read(query.input(rows, files_per_batch=1).make(tmp_path)))["k"]
    counted = np.bincount(keys.to_numpy()[:-1])
    assert len(counted) == query.keys
    assert counted.min() >= 500


def _read(folder: Path) -> list[pa.Table]:
    return [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]


def test_files_of_a_batch_hold_its_rows_in_turn_and_the_last_row_closes_all(
    tmp_path: Path,
) -> None:
    parts = _read(Input(files_per_batch=2, rows=1_000, keys=10).make(tmp_path))
    assert [len(part) for part in parts] == [100] * 8 + [101, 100]
    times = np.concatenate([part["ts"].cast(pa.int64()).to_numpy() for part in parts])
    keys = np.concatenate([part["k"].to_numpy() for part in parts])
    assert times.max() - np.sort(times)[-2] == CLOSES_AFTER_MICROS
    assert keys[times.argmax()] == CLOSING_KEY
    assert np.all(times % 1_000 == 0)


def test_arrivals_break_no_rule_of_the_policy_and_end_in_each_partition(tmp_path: Path) -> None:
    given = QUERIES["time-stage"].input(10_000, files_per_batch=1)
    rows = pa.concat_tables(_read(given.make(tmp_path)))
    times, arrived = (rows[name].cast(pa.int64()).to_numpy() for name in ("ts", "a"))
    order, partitions = rows["o"].to_numpy(), rows["p"].to_numpy()
    assert np.array_equal(order, np.arange(len(order)))
    assert np.all(np.diff(arrived) >= 0)
    assert np.all((times <= arrived) & (arrived - times <= MAX_LATENESS_MICROS))
    assert np.array_equal(partitions, order % PARTITIONS)
    assert np.count_nonzero(rows["k"].to_numpy() == CLOSING_KEY) == PARTITIONS
    assert set(partitions[-PARTITIONS:]) == set(range(PARTITIONS))


@pytest.mark.parametrize("rows", [1_000, 50_000])
def test_rows_spread_evenly_over_the_hours_whatever_their_number(rows: int, tmp_path: Path) -> None:
    parts = _read(Input(rows=rows, keys=10, hours=6).make(tmp_path))
    times = np.concatenate([part["ts"].cast(pa.int64()).to_numpy() for part in parts])
    times = np.sort(times)[:-1]
    micros = 6 * 3_600_000_000
    assert times[0] == FIRST_EVENT_MICROS
    # A millisecond is the resolution of the times.
    assert np.allclose(np.diff(times), micros / rows, atol=1_000)
    assert times[-1] - times[0] == pytest.approx(micros * (rows - 1) / rows, abs=1_000)


def test_inputs_of_different_hours_are_different_files(tmp_path: Path) -> None:
    folders = {Input(rows=10, keys=10, hours=hours).make(tmp_path) for hours in (None, 1, 6)}
    assert len(folders) == 3


def test_the_cost_of_a_further_row_is_without_start_up() -> None:
    def took(peer: str, rows: int, seconds: float) -> Measurement:
        return Measurement(query="q", peer=peer, rows=rows, runs=(Run(seconds=seconds),))

    fewer = {"event-time": took("event-time", 10, 5), "transom": took("transom", 10, 7)}
    more = {
        "event-time": took("event-time", 2_000_010, 7),
        "transom": took("transom", 2_000_010, 10),
    }
    expected = "a further row: event-time 1.00 µs, transom 1.50 µs, ratio 1.50"
    assert cost_of_a_row(fewer, more) == expected


@pytest.mark.parametrize(
    ("peer", "said"), [("one-minute", "one-minute"), ("three-queries", "three queries")]
)
def test_times_of_several_windows_are_divided_by_those_of_their_peer(peer: str, said: str) -> None:
    def took(peer: str, *seconds: float) -> Measurement:
        runs = tuple(Run(seconds=one) for one in seconds)
        return Measurement(query="several-windows", peer=peer, rows=1, runs=runs)

    shown = cost(took(peer, 10, 20, 30), took("transom", 15, 15, 15))
    assert shown == f"several-windows: {said} 20.0 s, transom 15.0 s, ratio 0.75"


def test_special_inputs_differ_as_they_say(tmp_path: Path) -> None:
    late = pa.concat_tables(
        _read(Input(files_per_batch=2, rows=10_000, keys=10, late=True).make(tmp_path))
    )
    times = late["ts"].cast(pa.int64()).to_numpy()
    assert 0 < np.count_nonzero(times < np.median(times) - 1_000_000) < 100
    skewed = pa.concat_tables(
        _read(Input(files_per_batch=2, rows=1_000, keys=10, skewed=True).make(tmp_path))
    )
    assert np.count_nonzero(skewed["k"].to_numpy() == 0) > 500
    long_keys = _read(Input(files_per_batch=2, rows=10, keys=10, long_keys=True).make(tmp_path))
    assert {len(key.as_py()) for part in long_keys for key in part["k"]} == {64}
    even = pa.concat_tables(
        _read(Input(files_per_batch=2, rows=1_000, keys=10, even_values=True).make(tmp_path))
    )
    assert len(set(zip(even["k"].to_pylist(), even["v"].to_pylist(), strict=True))) == 10 + 1
    small = _read(Input(files_per_batch=2, rows=1, keys=5_000, small_batches=True).make(tmp_path))
    assert [len(part) for part in small[:4]] == [2_500, 2_500, *[SMALL_BATCH_ROWS // 2] * 2]


def test_a_measurement_takes_the_place_of_its_earlier_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.record.RESULTS", tmp_path)
    record = Record(taken="2026-01-01T00:00:00", commit="c", machine={"name": "m"}, versions={})
    record.put(Measurement(query="q", peer="native", rows=1))
    record.put(Measurement(query="q", peer="transom", rows=1))
    record.put(Measurement(query="q", peer="native", rows=1, failed="took too long"))
    kept = Record.load(record.path).measurements
    assert [(one.peer, one.failed) for one in kept] == [
        ("transom", None),
        ("native", "took too long"),
    ]
