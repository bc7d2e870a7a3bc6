"""The check whether transom became slower, with made-up records."""

import pytest

from benchmarks import compare
from benchmarks.tests.made_up import measured, record


def changes(before: dict[str, list[float]], after: dict[str, list[float]]) -> list[compare.Change]:
    return compare.changes(
        [
            record(day, *(measured("q", peer, *seconds) for peer, seconds in times.items()))
            for day, times in enumerate((before, after), 1)
        ]
    )


def test_a_slower_machine_is_no_change() -> None:
    found = changes({"transom": [10], "batch": [5]}, {"transom": [20], "batch": [10]})
    assert [change.share for change in found] == [0]
    assert compare.slower(found) == []


@pytest.mark.parametrize(("after", "said"), [(10.39, []), (10.41, ["q"])])
def test_over_four_percent_are_a_change(after: float, said: list[str]) -> None:
    found = changes({"transom": [10], "batch": [5]}, {"transom": [after], "batch": [5]})
    assert compare.slower(found) == said


@pytest.mark.parametrize(("spread", "said"), [(0.5, ["q"]), (1.5, [])])
def test_a_change_within_twice_the_noise_is_none(spread: float, said: list[str]) -> None:
    noisy = [12 - spread, 12, 12 + spread]
    found = changes({"transom": [10, 10], "batch": [5]}, {"transom": noisy, "batch": [5]})
    assert compare.slower(found) == said


def test_what_shows_against_one_limit_alone_is_that_limits() -> None:
    limits: dict[str, list[float]] = {"pass-through": [2], "batch": [5]}
    found = changes({"transom": [10], **limits}, {"transom": [10], **limits, "batch": [4]})
    assert [change.counts for change in found] == [False, True]
    assert compare.slower(found) == []


def test_faster_is_said_and_no_regression() -> None:
    found = changes({"transom": [10], "batch": [5]}, {"transom": [8], "batch": [5]})
    assert (compare.slower(found), compare.faster(found)) == ([], ["q"])


def test_without_a_limit_native_windows_are_compared_with() -> None:
    found = changes({"transom": [10], "native": [5]}, {"transom": [11], "native": [5]})
    assert [(change.peer, change.counts) for change in found] == [("native", True)]


def test_other_inputs_are_not_compared() -> None:
    taken = [
        record(day, *(measured("q", peer, 1.0, rows=rows) for peer in ("transom", "batch")))
        for day, rows in ((1, 1_000), (2, 2_000))
    ]
    assert compare.changes(taken) == []


def test_the_last_two_that_have_a_query_are_compared() -> None:
    taken = [
        record(1, measured("q", "transom", 99), measured("q", "batch", 1)),
        record(2, measured("q", "transom", 2), measured("q", "batch", 1)),
        record(3, measured("q", "transom", 3), measured("q", "batch", 1)),
        record(4, measured("p", "transom", 3), measured("p", "batch", 1)),
    ]
    (change,) = compare.changes(taken)
    assert (change.commits, change.share) == (("commit2", "commit3"), 0.5)


@pytest.mark.parametrize(("after", "code"), [(10.0, 0), (11.0, 1), (9.0, 0)])
def test_slower_ends_with_an_exit_code(
    after: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = [
        record(day, measured("q", "transom", seconds), measured("q", "batch", 5))
        for day, seconds in ((1, 10.0), (2, after))
    ]
    monkeypatch.setattr(compare, "records", lambda _: taken)
    monkeypatch.setattr("sys.argv", ["compare", "made-up"])
    with pytest.raises(SystemExit) as ended:
        compare.main()
    assert ended.value.code == code
    assert ("slower: q" in capsys.readouterr().out) == (code == 1)
