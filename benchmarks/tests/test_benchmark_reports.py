"""Reports of made-up records."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import reading, report, targets
from benchmarks.record import Measurement, Record, Run
from benchmarks.tests.made_up import measured, record


def test_the_newest_of_each_query_and_peer_is_shown() -> None:
    old = record(1, measured("q", "transom", 1), measured("q", "native", 2))
    new = record(2, measured("q", "transom", 5))
    found = reading.newest([old, new])["q"]
    assert {peer: taken.record.commit for peer, taken in found.items()} == {
        "transom": "commit2",
        "native": "commit1",
    }


def test_a_ratio_is_of_one_record() -> None:
    old = record(1, measured("q", "transom", 1), measured("q", "native", 2))
    new = record(2, measured("q", "transom", 5), measured("p", "native", 5))
    found = reading.newest([old, new])
    assert found["q"]["native"].ratio == 2
    assert found["p"]["native"].ratio is None


def test_a_ratio_is_of_medians_and_by_row() -> None:
    ours = measured("q", "transom", 1, 9, 2)
    theirs = measured("q", "python", 8, rows=100_000)
    assert reading.newest([record(1, ours, theirs)])["q"]["python"].ratio == 40


def test_other_results_have_no_ratio() -> None:
    ours, theirs = measured("q", "transom", 1, digest="a"), measured("q", "native", 2, digest="b")
    assert reading.newest([record(1, ours, theirs)])["q"]["native"].ratio is None


def test_a_measurement_of_an_empty_result_is_not_shown() -> None:
    ours = measured("q", "transom", 1, result_rows=5)
    theirs = measured("q", "python", 8, rows=100_000, result_rows=0)
    assert list(reading.newest([record(1, ours, theirs)])["q"]) == ["transom"]
    assert reading.timed("q", "python", record(1, theirs)) is None


def test_queries_are_in_the_order_of_their_numbers() -> None:
    taken = record(1, *(measured(f"overlap-{n}", "transom", 1) for n in (60, 600, 6)))
    assert list(reading.newest([taken])) == ["overlap-6", "overlap-60", "overlap-600"]


def at(shape: str, seconds: float, peer: str = "transom", **parameters: int) -> Measurement:
    name = "-".join(map(str, (shape, *parameters.values())))
    return measured(name, peer, seconds, parameters={"shape": shape, **parameters})


def test_a_line_joins_what_differs_in_one_parameter() -> None:
    taken = record(
        1,
        at("t", 1, keys=10, cores=2),
        at("t", 3, keys=1_000, cores=2),
        at("t", 2, keys=100, cores=2),
        at("t", 9, keys=100, cores=1),
        at("u", 9, keys=7, cores=2),
        at("t", 8, "native", keys=10, cores=2),
    )
    (line,) = reading.lines([taken], "keys")
    assert {k: one.seconds for k, one in line.points["transom"].items()} == {10: 1, 100: 2, 1000: 3}
    assert list(line.points) == ["transom"]
    (line,) = reading.lines([taken], "cores")
    assert list(line.points["transom"]) == [1, 2]


def test_a_query_without_a_shape_is_a_line_by_cores() -> None:
    taken = record(
        1,
        measured("q-1-core", "transom", 4, parameters={"cores": 1}),
        measured("q", "transom", 2, parameters={"cores": 2}),
    )
    (line,) = reading.lines([taken], "cores")
    assert (line.shape, list(line.points["transom"])) == ("q", [1, 2])


def test_a_line_is_of_one_record() -> None:
    old = record(1, at("t", 1, keys=10), at("t", 2, keys=20))
    new = record(2, at("t", 3, keys=10))
    (line,) = reading.lines([old, new], "keys")
    assert line.record is old


def test_a_line_is_of_the_record_with_the_most_values_then_the_newest() -> None:
    old = record(1, *(at("t", 1, keys=keys) for keys in (10, 20, 30)))
    part = record(2, *(at("t", 2, keys=keys) for keys in (10, 20)))
    new = record(3, *(at("t", 3, keys=keys) for keys in (10, 20, 30)))
    assert [line.record for line in reading.lines([old, part], "keys")] == [old]
    assert [line.record for line in reading.lines([old, part, new], "keys")] == [new]


@pytest.mark.parametrize(("seconds", "reached"), [(1.59, False), (1.6, True), (5.0, True)])
def test_a_target_is_reached_at_its_figure(seconds: float, *, reached: bool) -> None:
    query = "tumbling-10k"
    taken = record(1, measured(query, "transom", 1), measured(query, "native", seconds))
    assert targets.table([taken])[query]["native"].reached is reached


def flink(whole: list[float], jobs: list[float | None], **more: float) -> Measurement:
    runs = tuple(Run(seconds=s, job_seconds=j) for s, j in zip(whole, jobs, strict=True))
    return replace(measured("tumbling-10k", "flink-heap", figures=more), runs=runs)


def test_a_target_is_compared_with_flinks_job_alone_too() -> None:
    taken = record(1, measured("tumbling-10k", "transom", 2), flink([4, 9, 3.2], [2, 8, 1.5]))
    cell = targets.table([taken])["tumbling-10k"]["flink-heap"]
    assert (cell.figure, cell.reached) == (2, True)
    assert (cell.job_figure, cell.job_reached) == (1, False)


def test_a_run_without_the_jobs_time_leaves_it_out() -> None:
    ours = measured("tumbling-10k", "transom", 2)
    for theirs in (flink([4, 5], [None, None]), flink([4, 5], [3, None])):
        assert theirs.job_seconds is None
        cell = targets.table([record(1, ours, theirs)])["tumbling-10k"]["flink-heap"]
        assert (cell.job_figure, cell.job_reached) == (None, None)


def page_of(folder: Path, *records: Record) -> str:
    results = folder / "results" / "made-up"
    results.mkdir(parents=True)
    for number, one in enumerate(records):
        (results / f"{number}.json").write_text(one.text)
    return report.page(folder, results.parent)


def test_each_row_of_flinks_shows_the_whole_run_and_the_job_only(tmp_path: Path) -> None:
    page = page_of(tmp_path, record(1, measured("tumbling-10k", "transom", 2), flink([4], [1.5])))
    assert "≥ 1.5: whole run 2.00, reached; job only 0.75, **not reached**" in page
    assert "| 4.0 | 4.0 to 4.0 of 1 | 2.00 | 2.0 | 1.5 | 0.75 |" in page
    assert "| tumbling-10k | flink-heap | 500,000 | 666,667 | 0.75, job only |" in page


def test_an_early_record_shows_the_jobs_time_of_its_last_run(tmp_path: Path) -> None:
    theirs = flink([4, 4], [None, None], job_seconds=3)
    page = page_of(tmp_path, record(1, measured("tumbling-10k", "transom", 2), theirs))
    assert "| 2.00 | 2.0 | 3.0 (last run) | 1.50 |" in page


@pytest.mark.parametrize(("seconds", "reached"), [(0.49, False), (0.5, True)])
def test_a_limit_is_a_time_not_to_be_exceeded(seconds: float, *, reached: bool) -> None:
    query = "tumbling-10k"
    taken = record(1, measured(query, "transom", 1), measured(query, "batch", seconds))
    assert targets.table([taken])[query]["batch"].reached is reached


def test_without_figures_no_target_is_reached_or_missed() -> None:
    taken = record(1, measured("tumbling-1m", "python", failed="over 600 s"))
    cells = targets.table([taken])
    assert {cell.reached for row in cells.values() for cell in row.values()} == {None}
    assert cells["tumbling-1m"]["python"].why == "did not finish"
    assert cells["tumbling-1m"]["native"].why == "not measured"


def test_who_was_given_up_is_said_to_have_taken_so_much_longer() -> None:
    query = "tumbling-1m"
    slow = measured(query, "python", failed="over 600 s", given_up_after=600, rows=100_000)
    cell = targets.table([record(1, measured(query, "transom", 20), slow)])[query]["python"]
    assert (cell.reached, cell.why) == (None, "given up after 600 s, 300.0 times transom's")


def limited(shape: str, seconds: float, limit: float, **parameters: int) -> list[Measurement]:
    """Return transom's measurement, and the pass-through of the same input."""
    passing = at(shape, limit, "pass-through", **parameters)
    return [at(shape, seconds, "transom", **parameters), passing]


def test_the_cost_of_overlap_is_that_of_a_row_of_input_above_the_pass_through() -> None:
    few, few_limit = limited("o", 12, 10, overlap=6)
    many, many_limit = limited("o", 16, 11, overlap=600)
    many = replace(many, result_rows=1_000_000)
    taken = record(1, few, few_limit, many, many_limit)
    (line,) = reading.lines([taken], "overlap")
    # 2 s and 5 s above the pass-through, for 1,000,000 rows.
    assert [targets.micros_above(line, value, "input") for value in (6, 600)] == [2, 5]
    assert targets.micros_above(line, 600, "input or result") == 2.5
    (cell,) = targets.growth([taken]).values()
    assert (cell.figure, cell.reached) == (2.5, False)


def test_rows_of_the_result_count_in_what_a_key_costs() -> None:
    few, few_limit = limited("t", 12, 10, keys=10_000)
    many, many_limit = limited("t", 14, 10, keys=10_000_000)
    many = replace(many, result_rows=1_000_000)
    (cell,) = targets.growth([record(1, few, few_limit, many, many_limit)]).values()
    assert (cell.figure, cell.reached) == (1, True)


def test_without_a_pass_through_there_is_no_cost_of_a_row() -> None:
    taken = record(1, at("o", 12, overlap=6), at("o", 16, overlap=600))
    (cell,) = targets.growth([taken]).values()
    assert (cell.figure, cell.reached) == (None, None)


def test_a_line_that_does_not_go_far_enough_tells_nothing() -> None:
    assert targets.growth([record(1, at("t", 2, keys=10_000), at("t", 4, keys=1_000_000))]) == {}


ALL = record(
    1,
    *(measured("tumbling-10k", peer, 2, 3, 4) for peer in reading.PEERS if peer != "python"),
    measured("tumbling-10k", "python", failed="over 600 s"),
    measured("tumbling-1m", "transom", 9),
    measured("tumbling-1m", "native", 6),
    measured("tumbling-1m-1-core", "transom", 12, parameters={"cores": 1}),
    measured("tumbling-1m-2-core", "transom", 8, parameters={"cores": 2}),
    *(at("hopping", seconds, overlap=n) for n, seconds in ((1, 2.0), (6, 3.0), (600, 3.0))),
    *(
        Measurement(
            query=f"{name}/{n}", peer=peer, rows=1, parameters={of: n}, figures={"batch_ms": n / 10}
        )
        for name, of in (("open-keys", "open_keys"), ("state-age", "batches"))
        for peer in ("transom", "native")
        for n in (10, 100)
    ),
    measured("latency/tumbling", "transom", figures={"p50_ms": 300.0, "p99_ms": 900.0}),
    measured("latency/tumbling", "native", figures={"p50_ms": 299.0, "p99_ms": 901.0}),
    measured("latency/tumbling", "flink-heap", failed="no rows"),
    measured(
        "jmh/SliceLog.minute",
        "transom",
        parameters={"unit": "ms/op"},
        figures={"score": 1.25, "error": 0.01, "alloc_bytes_per_op": 4096.0},
    ),
)


def test_the_page_shows_all_there_is(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "made-up"
    folder.mkdir(parents=True)
    newer = record(2, measured("tumbling-10k", "transom", 2), measured("tumbling-10k", "batch", 1))
    for number, one in enumerate((ALL, newer)):
        (folder / f"{number}.json").write_text(one.text)
    page = report.page(tmp_path, tmp_path / "results")
    assert "| tumbling-1m | native | 111,111 | 166,667 | 0.67 |" in page
    opening, _ = page.split("## How to read the tables")
    assert "| tumbling windows, 1,000,000 keys | 0.7 |  |  |" in opening
    assert "≤ 2 times: 2.00, reached" in page
    assert "≥ 5: 0.67, **not reached**" in page
    assert "| ≥ 20: did not finish |" in page
    assert (
        "| tumbling-10k | native | 1,000,000 | 3.0 | 2.0 to 4.0 of 3 | 1.00 | 3.0 |  |  | 333,333 |"
        in page
    )
    assert "| SliceLog.minute | 1.25 ± 0.01 | 0.8% | ms/op | 4,096 | `commit1` |" in page
    assert "| tumbling | transom | 300 | 900 |" in page
    assert "| latency/tumbling | native | p50 | 300 ms | 299 ms |" in page
    assert "| latency/tumbling | native | p99 |" not in page
    assert "| tumbling-1m-2-core | 1.50 |" in page
    pictures = re.findall(r"!\[.*\]\((.*)\)", page)
    assert len(pictures) == len(set(pictures)) == 7
    assert all((tmp_path / picture).exists() for picture in pictures)


def test_what_a_peer_needs_less_of_is_said(tmp_path: Path) -> None:
    def sized(peer: str, megabytes: int, rows: int) -> Measurement:
        runs = (Run(seconds=1, state_bytes=megabytes * 1_000_000),)
        return Measurement(query="q", peer=peer, rows=rows, runs=runs)

    folder = tmp_path / "results" / "made-up"
    folder.mkdir(parents=True)
    peers = {"transom": (5, 100), "native": (4, 100), "flink-heap": (6, 100), "python": (1, 10)}
    taken = record(1, *(sized(peer, *size) for peer, size in peers.items()))
    (folder / "1.json").write_text(taken.text)
    page = report.page(tmp_path, tmp_path / "results")
    assert re.findall("^.* state .*MB.*$", page, re.MULTILINE) == [
        "| q | native | state | 5.0 MB | 4.0 MB |"
    ]


def test_beside_a_ratio_is_what_transom_took_in_the_same_record(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "made-up"
    folder.mkdir(parents=True)
    python = measured("q", "python", 8, rows=100_000)
    old = record(1, measured("q", "transom", 4), measured("q", "native", 6), python)
    new = record(2, measured("q", "transom", 9))
    for number, one in enumerate((old, new)):
        (folder / f"{number}.json").write_text(one.text)
    page = report.page(tmp_path, tmp_path / "results")
    assert re.findall(r"^\| q \| native \|.* 1\.50 \| 4\.0 \|", page, re.MULTILINE)
    assert re.findall(r"^\| q \| python \|.* 20\.00 \| 4\.0 of 1,000,000 \|", page, re.MULTILINE)
    assert re.findall(
        r"^\| q \| transom \|.* 9\.0 \|.* \|  \|  \|  \|  \| 111,111 \|", page, re.MULTILINE
    )


def test_the_documentation_shows_the_records_that_are_kept(tmp_path: Path) -> None:
    written = (report.DOCS / "performance.md").read_text(encoding="utf-8")
    assert written == report.page(tmp_path), "make bench-report was not run"
