"""Rules of windows behind a time policy that no vector shows, worked out by hand."""

from __future__ import annotations

import pytest

from tests.time_model.stamping import Event, Row, Stamp, Tick, TimePolicy, stamps
from tests.time_model.windows import Bounds, Closed, Grid, Idle, Result, Session, windows


def at(*times: int) -> list[Stamp]:
    """Stamped rows. The watermark is the largest time so far."""
    return stamps([Row(time, time) for time in times], TimePolicy())


def taken(grid: Grid, time: int) -> tuple[Bounds, ...]:
    return windows(at(time), grid)[1][0].taken


def test_a_row_between_windows_is_in_none_and_misses_none() -> None:
    results, placed = windows(at(1, 4, 6), Grid(3, 5))
    assert [(p.taken, p.missed) for p in placed] == [(((0, 3),), ()), ((), ()), (((5, 8),), ())]
    assert [(result.bounds, result.at) for result in results] == [((0, 3), 1), ((5, 8), None)]


def test_starts_are_multiples_of_the_slide_before_1970_too() -> None:
    assert taken(Grid(4, 3, 1), -3) == ((-5, -1),)
    assert taken(Grid(4, 3, 1), -2) == ((-5, -1), (-2, 2))
    assert taken(Grid(4, 3, 1, "right"), -2) == ((-5, -1),)


@pytest.mark.parametrize(("closed", "waits"), [("left", False), ("right", True)])
def test_a_window_that_includes_its_end_waits_for_a_later_watermark(
    closed: Closed, *, waits: bool
) -> None:
    # With a lateness of 2, the window that ends at 10 is over at or after 12.
    results, placed = windows(at(5, 12, 9, 13, 9), Grid(10, 10, closed=closed), lateness=2)
    assert [bool(p.taken) for p in placed] == [True, True, waits, True, False]
    assert (results[0].rows, results[0].at) == (((0, 2), 3) if waits else ((0,), 1))


def test_lateness_neither_delays_an_idle_close_nor_reopens_its_window() -> None:
    events: list[Event] = [Row(5, 5), Tick(12), Tick(13), Row(7, 14), Row(11, 15)]
    results, placed = windows(stamps(events, TimePolicy()), Grid(10, 10), 100, Idle(3))
    assert [(r.bounds, r.at, r.cause) for r in results] == [
        ((0, 10), 2, "idle"),
        ((10, 20), None, "open"),
    ]
    assert placed[3].missed == ((0, 10),)
    assert [p.watermark for p in placed] == [5, 5, 10, 10, 11]


@pytest.mark.parametrize(
    ("idle", "instant"),
    [
        (Idle(3), 13),
        (Idle(3, "greater_of"), 10),
        (Idle(3, "last_row"), 9),
        (Idle(6), 16),
        (Idle(6, "greater_of"), 12),
        (Idle(6, "last_row"), 12),
    ],
)
def test_the_idle_rules_count_from_different_instants(idle: Idle, instant: int) -> None:
    # The last row came at 6, and its window ends at 10.
    events: list[Event] = [Row(2, 5), Row(5, 6), *(Tick(now) for now in range(7, 20))]
    results, _ = windows(stamps(events, TimePolicy()), Grid(10, 10), 0, idle)
    assert [events[result.at or 0] for result in results] == [Tick(instant)]


def test_a_row_that_opens_a_session_is_late_once_its_own_session_would_be_over() -> None:
    results, placed = windows(at(100, 88, 89), Session(10), lateness=2)
    assert [p.taken for p in placed] == [((100, 110),), (), ((89, 99),)]
    assert placed[1].missed == ((88, 98),)
    assert {result.at for result in results} == {None}


def test_a_row_of_any_age_joins_an_open_session() -> None:
    _, placed = windows(at(100, 92, 83), Session(10))
    assert [p.taken for p in placed] == [((100, 110),), ((92, 110),), ((83, 110),)]


def test_a_row_behind_the_watermark_can_be_allowed_to_join_only() -> None:
    rows = [Row(100, 0, key="a"), Row(99, 0, key="b"), Row(100, 0, key="b"), Row(99, 0, key="b")]
    session = Session(10, late_start="reject")
    _, placed = windows(stamps(rows, TimePolicy()), session, lateness=50)
    assert [p.taken for p in placed] == [((100, 110),), (), ((100, 110),), ((99, 110),)]


def shown(results: list[Result]) -> list[tuple[Bounds, tuple[int, ...], int | None]]:
    return [(result.bounds, result.rows, result.at) for result in results]


def test_a_session_that_a_check_cut_goes_on_from_the_check() -> None:
    session = Session(5, closed="right", max_duration=10)
    results, _ = windows(at(3, 7, 12, 17, 18, 22, 30), session)
    assert shown(results) == [
        ((3, 20), (0, 1, 2, 3, 4), 5),
        ((20, 27), (5,), 6),
        ((30, 35), (6,), None),
    ]


def test_a_row_more_than_a_gap_after_a_cut_session_starts_its_own() -> None:
    session = Session(5, closed="right", max_duration=10)
    results, _ = windows(at(3, 7, 12, 17, 18, 24), session)
    assert shown(results) == [((3, 20), (0, 1, 2, 3, 4), 5), ((24, 29), (5,), None)]


def test_a_session_of_just_the_maximum_duration_is_too_long_or_not() -> None:
    times = (20, 24, 28, 32, 36, 40, 44)
    results, _ = windows(at(*times), Session(5, closed="right", max_duration=10, max_check=">="))
    assert shown(results) == [
        ((20, 30), (0, 1, 2), 3),
        ((30, 40), (3, 4, 5), 6),
        ((40, 49), (6,), None),
    ]
    results, _ = windows(at(*times), Session(5, closed="right", max_duration=10, max_check=">"))
    assert shown(results) == [((20, 40), (0, 1, 2, 3, 4, 5), 6), ((40, 49), (6,), None)]


def test_a_row_at_a_check_is_in_the_session_that_includes_its_end() -> None:
    cases: list[tuple[Closed, tuple[int, int]]] = [("right", (4, 1)), ("left", (3, 2))]
    for closed, sizes in cases:
        session = Session(5, closed=closed, max_duration=10)
        results, _ = windows(at(8, 12, 16, 20, 24), session)
        assert tuple(len(result.rows) for result in results) == sizes
        assert [result.bounds for result in results] == [(8, 20), (20, 29)]


def test_a_late_row_joins_the_session_that_a_check_has_opened() -> None:
    rows = [Row(time, 0, key="a") for time in (3, 7, 12, 17, 18, 21)]
    other = Row(22, 0, key="b")
    session = Session(5, late_start="reject", max_duration=10)
    _, placed = windows(stamps([*rows[:5], other, rows[5]], TimePolicy()), session)
    assert placed[-1].taken == ((20, 26),)


def test_windows_of_a_key_follow_the_watermark_of_its_substream() -> None:
    rows = [
        Row(5, 5, substream="x", key="x"),
        Row(30, 6, substream="y", key="y"),
        Row(12, 7, substream="x", key="x"),
    ]
    results, _ = windows(stamps(rows, TimePolicy(by_substream=True)), Grid(10, 10))
    assert [(r.key, r.bounds, r.at) for r in results] == [
        ("x", (0, 10), 2),
        ("x", (10, 20), None),
        ("y", (30, 40), None),
    ]
