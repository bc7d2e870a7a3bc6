"""Rules of a `TimePolicy` for single rows: what happens to a row, and when the watermark moves."""

from dataclasses import dataclass, field

from transom._base import checks
from transom._base.durations import Duration, not_negative, positive
from transom._base.values import Value


@dataclass(frozen=True, slots=True)
class TimeRule(Value):
    """Base class of `Accept`, `Drop` and `Adjust`."""

    beyond: Duration

    def __post_init__(self) -> None:
        object.__setattr__(self, "beyond", not_negative("beyond", self.beyond))


@dataclass(frozen=True, slots=True)
class Accept(TimeRule):
    """Leaves rows that are out of order as they are. The windows decide whether they are late.

    Parameters
    ----------
    beyond : str or timedelta
        How far the watermark stays behind the largest time.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.TimePolicy("departed", out_of_order=transom.Accept("1 minute")) == (
    ...     transom.TimePolicy("departed", out_of_order="1 minute")
    ... )
    True
    """


@dataclass(frozen=True, slots=True)
class Drop(TimeRule):
    """Drops rows that are beyond a bound. A dropped row has no time and moves no watermark.

    Parameters
    ----------
    beyond : str or timedelta
        The tolerance. A row exactly at the bound is not dropped.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Drop("5 minutes") == transom.Drop("300 seconds")
    True
    """


@dataclass(frozen=True, slots=True)
class Adjust(TimeRule):
    """Moves the time of rows that are beyond a bound to this bound.

    The column with the time keeps its value. Windows use the moved time.

    Parameters
    ----------
    beyond : str or timedelta
        The tolerance. A row exactly at the bound is not moved.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Adjust("5 minutes") == transom.Adjust("300 seconds")
    True
    """


@dataclass(frozen=True, slots=True)
class Periodic(Value):
    """Moves the watermark after a number of rows, after a span of event time, or after both.

    Parameters
    ----------
    rows : int, optional
        The watermark moves at each row whose number, among the rows that are not dropped, is a
        multiple of ``rows``. 1 if ``every`` is not given either.
    every : str or timedelta, optional
        The watermark moves when the largest time reaches a multiple of ``every`` since 1970. It
        then follows this multiple, and not the largest time itself.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_DURATION``. ``TRANSOM_BAD_CHOICE`` for more than
        2,147,483,647 rows.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> import transom
    >>> transom.Periodic(100, every="1 minute") == transom.Periodic(100, every="60 seconds")
    True
    >>> transom.Periodic() == transom.Periodic(1)
    True
    """

    rows: int | None = None
    every: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.rows is None and self.every is None:
            object.__setattr__(self, "rows", 1)
        if self.rows is not None:
            checks.whole_number("rows", self.rows, least=1)
        if self.every is not None:
            object.__setattr__(self, "every", positive("every", self.every))
