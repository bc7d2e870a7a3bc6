"""Evictors: frozen values that say which rows of a window stay when it fires.

What stays is what the next result begins with, and the order of rows is that of their arrival. A
window that has one keeps its rows, not their aggregates alone.
"""

from dataclasses import dataclass, field
from typing import Literal

from transom import _checks
from transom._columns import Condition, Delta, check_delta, condition_of
from transom._durations import Duration, positive
from transom._values import Value

Eviction = Literal["before", "after"]


class Evictor(Value):
    """Any of the evictors below; it has no use of its own."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class KeepLast(Evictor):
    """The rows that came last.

    Parameters
    ----------
    rows : int
        How many rows stay.
    when : {"before", "after"}
        Whether the others go before the result is computed or after.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepLast(10)
    KeepLast(rows=10, when='before')
    """

    rows: int
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        _checks.whole_number("rows", self.rows, least=1)
        _check_when(self.when)


@dataclass(frozen=True, slots=True)
class KeepRecent(Evictor):
    """Rows newer than the pane's newest row, less some time.

    Only the times of rows count, no clock and no watermark does. Where rows have none, all stay.

    Parameters
    ----------
    within : str or timedelta
        How much older than the newest row a row must not be.
    when : {"before", "after"}
        Whether the others go before the result is computed or after.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_CHOICE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepRecent("60 seconds") == transom.KeepRecent("1 minute")
    True
    """

    within: Duration
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", positive("within", self.within))
        _check_when(self.when)


@dataclass(frozen=True, slots=True)
class KeepNear(Evictor):
    """Rows less than a threshold away from the row that came last.

    Parameters
    ----------
    delta : function
        Makes a numeric Column of two rows, the older one and the last one, which it is given as
        struct Columns. It is called once, and runs in the JVM.
    threshold : float
        The distance from which on a row goes, as it does where the distance is null.
    when : {"before", "after"}
        Whether the others go before the result is computed or after.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``, for a threshold that is not finite too.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepNear(lambda old, last: last["delay"] - old["delay"], threshold=30).threshold
    30.0
    """

    delta: Delta
    threshold: float = field(kw_only=True)
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        check_delta("delta", self.delta)
        object.__setattr__(self, "threshold", _checks.number("threshold", self.threshold))
        _check_when(self.when)


@dataclass(frozen=True, slots=True, eq=False)
class KeepWhere(Evictor):
    """Rows for which a condition of your own holds.

    Parameters
    ----------
    condition : str or Column
        True or false, as which null counts; a text is SQL. In it, columns are those of the row,
        aggregates are over the pane. It runs in the JVM.
    when : {"before", "after"}
        Whether the others go before the result is computed or after.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_CHOICE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.KeepWhere("delay >= avg(delay)", when="after")
    KeepWhere(condition='delay >= avg(delay)', when='after')
    """

    condition: Condition
    when: Eviction = field(default="before", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "condition", condition_of("condition", self.condition))
        _check_when(self.when)


def _check_when(when: object) -> None:
    _checks.choice("when", when, ("before", "after"))
