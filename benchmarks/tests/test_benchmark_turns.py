"""The runs of peers: their order, their times, and the checks of their results."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers.processes import USABLE_CORES, Watched, confine, run
from benchmarks.peers.turns import EmptyResultsError, Entrant, Turns
from benchmarks.record import Measurement

SECONDS = json.dumps({"seconds": 1.5, "figures": {"job_seconds": 1.0, "batch_ms_p50": 7.0}})


def entrant(
    peer: str,
    *,
    result: str = "same",
    rows: int = 10,
    fails: bool = False,
    cannot: str | None = None,
    computes: bool = True,
    result_rows: int = 1,
) -> Entrant:
    """Return an entrant that writes one result, and adds each run to the file `turns`."""

    def command(work: Path, *, write: bool) -> list[str]:
        noted = f"open({str(work.parent / 'turns')!r}, 'a').write('{peer} {rows} {write},')"
        written = f"open({str(work / 'rows')!r}, 'w').write({result!r})"
        end = "raise SystemExit('it broke')" if fails else f"print({SECONDS!r})"
        return [sys.executable, "-c", f"{noted}; {written}; {end}"]

    return Entrant(
        blank=Measurement(query="q", peer=peer, rows=rows, failed=cannot),
        command=command,
        digest=(lambda written: (result_rows, written.read_text())) if computes else None,
        state=None,
    )


def take(
    folder: Path, *entrants: Entrant, repeats: int = 2, limit: float = 60
) -> tuple[dict[str, Measurement], list[str]]:
    """Return the measurements, and the order of the runs."""
    kept: list[Measurement] = []
    turns = Turns(repeats=repeats, limit=limit, work=folder, keep=kept.append)
    references = {one.blank.rows: entrant("transom", rows=one.blank.rows) for one in entrants}
    measured = turns.take(entrants, references)
    # The last kept state of each peer is its measurement.
    assert {one.peer: one for one in kept} == measured
    return measured, (folder / "turns").read_text().split(",")[:-1]


def test_each_writes_its_results_once_and_then_all_run_in_turn(tmp_path: Path) -> None:
    measured, turns = take(tmp_path, entrant("transom"), entrant("native"))
    assert turns == [
        "transom 10 True",
        "native 10 True",
        *["transom 10 False", "native 10 False"] * 2,
    ]
    assert [run.seconds for run in measured["native"].runs] == [1.5, 1.5]
    assert [run.job_seconds for run in measured["native"].runs] == [1.0, 1.0]
    assert measured["native"].figures == {"batch_ms_p50": 7.0}
    assert (measured["native"].result_rows, measured["native"].digest) == (1, "same")


def test_mirrored_turns_alternate_the_order_and_compare_with_the_named_reference(
    tmp_path: Path,
) -> None:
    before, after = entrant("before"), entrant("after", result="other")
    same = replace(entrant("after"), blank=replace(after.blank, peer="same"))
    turns = Turns(
        repeats=3,
        limit=60,
        work=tmp_path,
        keep=lambda _: None,
        reference="before",
        mirrored=True,
    )
    measured = turns.take([before, same], {10: before})
    assert (tmp_path / "turns").read_text().split(",")[:-1] == [
        *["before 10 True", "after 10 True"],
        *["before 10 False", "after 10 False"],
        *["after 10 False", "before 10 False"],
        *["before 10 False", "after 10 False"],
    ]
    assert len(measured["same"].runs) == 3
    differs = turns.take([before, after], {10: before})["after"]
    assert differs.failed == "its 1 results differ from before's 1"


def test_other_results_than_transoms_get_no_time(tmp_path: Path) -> None:
    measured, turns = take(tmp_path, entrant("native", result="other"), entrant("batch"))
    assert measured["native"].failed == "its 1 results differ from transom's 1"
    assert measured["native"].runs == ()
    assert len(measured["batch"].runs) == 2
    assert "native 10 False" not in turns


def test_a_comparison_of_empty_results_is_refused(tmp_path: Path) -> None:
    turns = Turns(repeats=1, limit=60, work=tmp_path, keep=lambda _: None)
    empty = entrant("transom", result_rows=0)
    with pytest.raises(EmptyResultsError, match="q: transom returned no rows for 10 rows of input"):
        turns.take([empty, entrant("native", result_rows=0)], {10: empty})
    assert "False" not in (tmp_path / "turns").read_text()


def test_a_part_of_the_results_is_compared_with_this_part_of_transoms(tmp_path: Path) -> None:
    part = entrant("transom", result="part", result_rows=2)
    same = replace(entrant("one", result="part", result_rows=2), reference=part)
    other = replace(entrant("other"), reference=part)
    measured, turns = take(tmp_path, same, other, entrant("all"), repeats=1)
    assert measured["other"].failed == "its 1 results differ from transom's 2"
    assert measured["all"].digest == "same"
    # The hash of a part differs from transom's, so it is not kept.
    assert (measured["one"].result_rows, measured["one"].digest) == (2, None)
    assert [turn for turn in turns if turn.endswith("False")] == ["one 10 False", "all 10 False"]


def test_an_empty_part_to_compare_with_is_refused(tmp_path: Path) -> None:
    turns = Turns(repeats=1, limit=60, work=tmp_path, keep=lambda _: None)
    empty = entrant("transom", result_rows=0)
    part = replace(entrant("one", result_rows=0), reference=empty)
    with pytest.raises(EmptyResultsError, match="q: transom returned no rows"):
        turns.take([part], {10: entrant("transom")})


def test_a_peer_without_results_differs_from_transom(tmp_path: Path) -> None:
    measured, _ = take(tmp_path, entrant("transom"), entrant("native", result_rows=0))
    assert measured["native"].failed == "its 0 results differ from transom's 1"


@pytest.mark.parametrize("also", ["transom", "native"])
def test_who_fails_gets_no_time_and_the_others_go_on(tmp_path: Path, also: str) -> None:
    measured, _ = take(tmp_path, entrant("python", fails=True), entrant(also))
    assert "it broke" in str(measured["python"].failed)
    assert len(measured[also].runs) == 2


def test_who_needs_more_memory_is_said_to_have_run_out_of_it(tmp_path: Path) -> None:
    ends = "raise SystemExit('java.lang.OutOfMemoryError: Java heap space')"
    large = replace(entrant("native"), command=lambda _, **__: [sys.executable, "-c", ends])
    measured, _ = take(tmp_path, entrant("transom"), large)
    assert measured["native"].failed == "ran out of memory"


def test_who_takes_too_long_is_given_up_after_the_limit(tmp_path: Path) -> None:
    waits = [sys.executable, "-c", "import signal; signal.pause()"]
    slow = replace(entrant("python"), command=lambda _, **__: waits)
    measured, _ = take(tmp_path, entrant("transom"), slow, limit=3)
    assert (measured["python"].failed, measured["python"].given_up_after) == (
        "took longer than 3 s",
        3,
    )
    assert measured["transom"].given_up_after is None


def test_a_share_of_the_rows_is_compared_with_transoms_results_for_as_many(tmp_path: Path) -> None:
    measured, turns = take(tmp_path, entrant("transom"), entrant("python", rows=1), repeats=1)
    assert "transom 1 True" in turns
    assert "transom 1 False" not in turns
    assert measured["python"].failed is None


def test_what_cannot_be_asked_does_not_run(tmp_path: Path) -> None:
    measured, turns = take(tmp_path, entrant("native", cannot="no clock"), entrant("transom"))
    assert measured["native"].failed == "no clock"
    assert not any(turn.startswith("native") for turn in turns)


def test_a_limit_is_only_timed(tmp_path: Path) -> None:
    measured, turns = take(tmp_path, entrant("pass-through", computes=False), repeats=1)
    assert turns == ["pass-through 10 False"]
    assert measured["pass-through"].digest is None


@pytest.mark.skipif(
    len(USABLE_CORES) < 2, reason="a core to be kept from is needed, and a system that tells"
)
def test_who_is_given_one_core_cannot_use_the_others(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    before = os.sched_getaffinity(0)
    try:
        found = []
        for cores in (1, 2):
            confine(cores)
            found.append(int(run(command, 60, tmp_path, Watched({}))))
    finally:
        os.sched_setaffinity(0, before)
    assert found == [1, 2]
