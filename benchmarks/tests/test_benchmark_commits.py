"""The comparison of two commits: the verdict, and the order of the runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import commits
from benchmarks.commits import Comparison, noise
from benchmarks.peers.compare import Settings
from benchmarks.record import Measurement
from benchmarks.tests.made_up import measured

HOW = Settings(rows=10, repeats=3, limit=60, cores=2, files_per_batch=1)


def compared(before: list[float], after: list[float]) -> Comparison:
    return Comparison.of("q", before, after)


def test_noise_is_half_of_the_interquartile_range_as_a_share_of_the_median() -> None:
    # The quartiles of 8, 9, 10, 11, 12 are 9 and 11.
    assert noise([12, 8, 10, 9, 11]) == pytest.approx(0.1)


def test_one_slow_turn_is_no_noise() -> None:
    assert noise([10, 10, 10, 10, 10, 10, 90]) == 0


def test_a_single_turn_has_no_noise() -> None:
    assert noise([10]) == 0


def test_the_noise_of_two_commits_adds_up_as_independent_errors_do() -> None:
    # 3 % and 4 %: a right-angled triangle of sides 3, 4, 5.
    assert compared([97, 100, 103] * 5, [96, 100, 104] * 5).noise == pytest.approx(0.05)


def test_the_ratio_is_that_of_the_medians() -> None:
    assert compared([10, 10, 99], [11, 1, 12]).ratio == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(10.4, "same"), (10.6, "slower"), (9.6, "same"), (9.4, "faster"), (10.0, "same")],
)
def test_a_change_of_over_five_percent_counts(after: float, verdict: str) -> None:
    assert compared([10] * 7, [after] * 7).verdict == verdict


@pytest.mark.parametrize(("after", "verdict"), [(119, "same"), (121, "slower")])
def test_a_change_within_twice_the_noise_is_none(after: float, verdict: str) -> None:
    # The quartiles before are 90 and 110, so twice the noise is 20 %.
    assert compared([80, 90, 100, 110, 120], [after] * 5).verdict == verdict


def test_the_plain_queries_of_the_bench_and_each_other_way_of_a_row_are_compared() -> None:
    assert commits.NAMES == [
        "tumbling-10k",
        "tumbling-1m",
        "hopping-60-6",
        "hopping-60-1",
        "session-10k",
        "session-1m",
        "time-stage",
        "substreams",
        "rolling",
        "several-windows",
        "latency",
        "latency-policy",
    ]


def test_the_latency_is_measured_in_turn_and_a_later_result_is_slower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides: list[str] = []

    def measure(peer: str, seconds: int, command: list[str]) -> Measurement:
        assert (command[0], seconds) == ("env", commits.LATENCY_WINDOWS)
        assert command[-1] == peer == "transom-policy"
        side = Path(command[1].removeprefix("PYTHONPATH=")).parent.name
        sides.append(side)
        p50 = {"old": 800.0, "new": 900.0}[side]
        return replace(measured("latency", side), figures={"p50_ms": p50})

    monkeypatch.setattr("benchmarks.latency.measure", measure)
    worktrees = {"before": Path("/build/old"), "after": Path("/build/new")}
    found = commits.compare_latency("latency-policy", worktrees, 3)
    assert sides == ["old", "new", "new", "old", "old", "new"]
    assert (found.before, found.after, found.verdict) == (0.8, 0.9, "slower")


def test_a_latency_of_wrong_results_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*_: object) -> Measurement:
        return replace(measured("latency", "any"), failed="2 windows counted 3 rows")

    monkeypatch.setattr("benchmarks.latency.measure", measure)
    with pytest.raises(SystemExit, match="before failed, 2 windows counted 3 rows"):
        commits.compare_latency("latency", {"before": Path("a"), "after": Path("b")}, 3)


def test_a_commit_runs_with_its_own_package_in_the_harness_of_this_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.peers.compare.BUILD", tmp_path)
    entrant = commits._entrant("tumbling-10k", "after", Path("/build/abc"), HOW)
    assert entrant.blank.peer == "after"
    command = entrant.command(tmp_path / "work", write=False)
    assert command[:2] == ["env", "PYTHONPATH=/build/abc/python"]
    assert command[3:7] == ["-m", "benchmarks.peers.spark_once", "tumbling-10k", "transom"]


@pytest.mark.parametrize(("after", "code"), [(10.0, 0), (11.0, 1), (9.0, 0)])
def test_slower_ends_with_an_exit_code(
    after: float,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def compare(name: str, *_: object) -> dict[str, Measurement]:
        return {
            "before": measured(name, "before", 10, 10, 10),
            "after": measured(name, "after", after, after, after),
        }

    monkeypatch.setattr(commits, "compare", compare)
    monkeypatch.setattr(commits, "built", Path)
    monkeypatch.setattr(commits, "clear", lambda: None)
    monkeypatch.setattr(commits, "end_on_signal", lambda: None)
    monkeypatch.setattr(commits, "BUILD", tmp_path)
    monkeypatch.setattr("sys.argv", ["commits", "old", "new", "--query", "session-1m"])
    with pytest.raises(SystemExit) as ended:
        commits.main()
    assert ended.value.code == code
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| session"))
    assert ("slower" in row) == (code == 1)
