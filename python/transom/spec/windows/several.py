"""Several windows in one pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column

from transom._base.errors import type_error, value_error
from transom._base.values import is_kind_of, keywords_after
from transom.spec.windows.assigners import Custom, Window
from transom.spec.windows.calendar import Calendar
from transom.spec.windows.grids import Cumulate, Hopping, Tumbling
from transom.spec.windows.lifetimes import SWEPT
from transom.spec.windows.sessions import Session

_KINDS = (Tumbling, Hopping, Cumulate, Calendar, Session, *SWEPT)


@keywords_after(1, example="Windows({'hour': Tumbling('1 hour')})", in_list=True)
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Windows(Window):
    """Several windows over the same rows, in one pass.

    The result has the rows that each window has alone. The column ``window_id`` names the window.
    Spark reads the rows once, and the partial aggregates of windows on a grid are combined once.
    A row is late if all of its windows have fired. It counts in its other windows if only some
    have. This is ``Windows()`` of Azure Stream Analytics.

    Parameters
    ----------
    windows : mapping of str to Window, or sequence of Window
        The windows by their ids, or windows without ids. Each is a window on a grid without
        ``stagger``, a `Session` with a fixed gap and ``late_start="open"``, a `Snapshot`, a
        `Rolling` or a `CountByStart`. The ids of windows without ids are null.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_WINDOW_IDS`` without windows, for an empty id, and for ids that are equal but
        for upper and lower case. ``TRANSOM_BAD_CHOICE`` for other windows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Notes
    -----
    Windows on grids with the same ``closed`` and the same ``time_zone`` stay in the slice log. All
    others need the keyed layout, which has an entry for each key.

    Examples
    --------
    >>> rows = spark.createDataFrame([["2013-01-01 05:40"], ["2013-01-01 06:10"]], "at string")
    >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
    >>> sizes = {
    ...     "hour": transom.Tumbling(size="1 hour"), "day": transom.Tumbling(size="1 day")
    ... }
    >>> counts = by_time.window(transom.Windows(sizes)).agg(F.count("*").alias("n"))
    >>> counts.select("window.start", "window_id", "n").orderBy("start", "window_id").show()
    +-------------------+---------+---+
    |              start|window_id|  n|
    +-------------------+---------+---+
    |2013-01-01 00:00:00|      day|  2|
    |2013-01-01 05:00:00|     hour|  1|
    |2013-01-01 06:00:00|     hour|  1|
    +-------------------+---------+---+
    """

    windows: Mapping[str, Window] | Sequence[Window]

    def __post_init__(self) -> None:
        given: object = self.windows
        expected = "a dict of ids and windows, or a list of windows"
        if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
            raise type_error("windows", given, expected)
        kept = dict(given) if isinstance(given, Mapping) else tuple(given)
        object.__setattr__(self, "windows", kept)
        ids = list(kept) if isinstance(kept, dict) else []
        for name in ids:
            if not isinstance(name, str):
                raise type_error("windows", given, expected)
        _check_ids(ids, any_window=bool(kept))
        for window in self.members:
            _check_member(window)
        if not ids:
            _check_different(self.members)

    @property
    def named(self) -> Iterator[tuple[str | None, Window]]:
        """The windows with their ids."""
        if isinstance(self.windows, Mapping):
            yield from self.windows.items()
        else:
            yield from ((None, window) for window in self.windows)

    @property
    def members(self) -> tuple[Window, ...]:
        """The windows."""
        return tuple(window for _, window in self.named)


def members_of(window: Window) -> tuple[Window, ...]:
    """Return the windows that are computed in one pass: those of `Windows`, or the window alone."""
    return window.members if isinstance(window, Windows) else (window,)


def is_merging(window: Window) -> bool:
    """Return whether windows of a key that overlap become one window."""
    return any(
        isinstance(member, Session) or (isinstance(member, Custom) and member.merging)
        for member in members_of(window)
    )


def _bad_ids(why: str) -> Exception:
    return value_error("BAD_WINDOW_IDS", argument="windows", why=why)


def _check_different(windows: Sequence[Window]) -> None:
    for window in windows:
        if windows.count(window) > 1:
            raise _bad_ids(f"{window!r} is in the list twice, and its results would be equal")


def _check_ids(ids: Sequence[str], *, any_window: bool) -> None:
    if not any_window:
        raise _bad_ids("there is no window")
    seen: dict[str, str] = {}
    for name in ids:
        if not name:
            raise _bad_ids("an id is empty")
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise _bad_ids(f"{other!r} and {name!r} differ only in upper and lower case")


def _check_member(window: object) -> None:
    if not is_kind_of(Window, window):
        raise type_error("windows", window, "a window such as transom.Tumbling(size='1 hour')")
    assert isinstance(window, Window)
    why = None
    if isinstance(window, Windows):
        why = "a single window, because Windows cannot be nested"
    elif not isinstance(window, _KINDS):
        why = "a window on a grid, a Session, a Snapshot, a Rolling or a CountByStart"
    elif isinstance(window, Session) and isinstance(window.gap, Column):
        why = "a Session with a fixed gap"
    elif isinstance(window, Session) and window.late_start != "open":
        why = "a Session with late_start='open'"
    elif isinstance(window, Tumbling) and window.stagger != "aligned":
        why = "a Tumbling with stagger='aligned'"
    if why is not None:
        raise value_error("BAD_CHOICE", argument="windows", value=window, choices=why)
