"""Windows: frozen values that say which rows belong together.

They need no session, and are equal by meaning. Those on a fixed grid are in `transom.grids`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pyspark.sql import Column

from transom import _checks
from transom._columns import Col, check_column
from transom._durations import Duration, positive
from transom._errors import value_error
from transom._values import Value

Closed = Literal["left", "right"]
Gap = Duration | Column

_MOST_WINDOWS = 10_000_000


class Window(Value):
    """Any of the windows below; it has no use of its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Session(Window):
    """Windows that stay open while rows of a key keep arriving.

    Two rows share a window when at most ``gap`` apart; a row between two windows joins them into
    one. A window ends one gap after its last row.

    Parameters
    ----------
    gap : str, timedelta or Column
        Quiet time that ends a window. A Column of type ``INTERVAL DAY TO SECOND``, as
        ``F.make_dt_interval`` makes it, has a gap for each row, which reaches forward only: a
        shorter one never pulls the end of a window back.
    inclusive : bool
        Whether rows exactly one gap apart share a window.
    closed : {"left", "right"}
        With "right" the end belongs to the window: it fires when the watermark is past it.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.

    Examples
    --------
    >>> import transom
    >>> transom.Session(gap="90 seconds") == transom.Session(gap="1 minute 30 seconds")
    True
    """

    gap: Gap
    inclusive: bool = True
    closed: Closed = "left"

    def __post_init__(self) -> None:
        if not isinstance(self.gap, Column):
            keep_positive(self, "gap")
        _checks.flag("inclusive", self.inclusive)
        check_closed(self.closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Global(Window):
    """One window for all time. Its ``window`` is null, and it needs a trigger.

    Examples
    --------
    >>> import transom
    >>> transom.Global() == transom.Global()
    True
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Window):
    """Windows of so many rows of a key, in the order of their arrival.

    They fire when they are full, so they take no trigger. ``window`` is the first and last time of
    their rows, null for a stream without time.

    Parameters
    ----------
    size : int
        How many rows are in a window.
    slide : int, optional
        How many rows after the start of a window the next one starts. None if they lie side by
        side. A slide above the size leaves gaps: their rows are in no window, and are counted in
        ``transom_rows_in_gaps``.
    partial : bool
        Whether there is a result each ``slide`` rows, of the last ``size`` rows or as many as there
        are, in place of full windows alone. No row is then in a gap.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``, and ``TRANSOM_TOO_MANY_WINDOWS`` for more
        than 10,000,000 windows a row.

    Examples
    --------
    >>> import transom
    >>> transom.Count(size=100, slide=10)
    Count(size=100, slide=10, partial=False)
    """

    size: int
    slide: int | None = None
    partial: bool = False

    def __post_init__(self) -> None:
        _checks.whole_number("size", self.size, least=1)
        if self.slide is not None:
            _checks.whole_number("slide", self.slide, least=1)
        _checks.flag("partial", self.partial)
        if not self.partial:
            check_windows_per_row(self.size // self.step, "slide", self.slide)

    @property
    def step(self) -> int:
        """From the first row of one window to that of the next."""
        return self.size if self.slide is None else self.slide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Custom(Window):
    """Windows of your own: each row lists those that it belongs to.

    Parameters
    ----------
    windows : str or Column
        The row's windows: an array of structs of two timestamps, ``start`` and ``end``.
    merging : bool
        Whether windows of a key that overlap or touch become one.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Custom(windows="shifts")
    Custom(windows='shifts', merging=False)
    """

    windows: Col
    merging: bool = False

    def __post_init__(self) -> None:
        check_column("windows", self.windows)
        _checks.flag("merging", self.merging)


class Sliding:
    """No window: the word means two things, and making one says which windows to use instead.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, always.
    """

    def __init__(self, *_: object, **__: object) -> None:
        raise value_error(
            "BAD_CHOICE",
            argument="window",
            value="Sliding, a word for two things",
            choices=(
                "Hopping(size=, slide=), windows on a grid (Spark, Flink), and Rolling(size=), a "
                "window up to each event (Azure, Kafka), which this version does not have"
            ),
        )


def is_merging(window: Window) -> bool:
    """Whether windows of a key that meet become one."""
    return isinstance(window, Session) or (isinstance(window, Custom) and window.merging)


# Lengths are kept as timedeltas however they were written, so that equal ones make equal windows.
def keep_positive(value: Window, name: str) -> timedelta:
    """The length in a field, which is checked."""
    length = positive(name, getattr(value, name))
    object.__setattr__(value, name, length)
    return length


def check_closed(closed: object) -> None:
    """Which end belongs to a window."""
    _checks.choice("closed", closed, ("left", "right"))


def check_windows_per_row(windows: int, argument: str, value: object) -> None:
    """Not more windows than a row may be in."""
    if windows > _MOST_WINDOWS:
        raise value_error("TOO_MANY_WINDOWS", argument=argument, value=value, windows=windows)
