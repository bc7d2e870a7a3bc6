"""Windows that the rows themselves begin and end, and the one window that never does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from transom._checks import check_choice, check_flag
from transom.assigners import Closed, Window
from transom.durations import Duration, positive_micros
from transom.errors import value_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Window):
    """Windows of a key that stay open while rows keep arriving.

    Two rows of one key share a window when at most ``gap`` apart; a row between two windows joins
    them into one. A window reaches from its first row to ``gap`` after its last (flink.md 1.6, 6).

    Parameters
    ----------
    gap : str or timedelta
        Quiet time that ends a window.
    inclusive : bool
        Whether rows exactly ``gap`` apart share a window.
    closed : {"left", "right"}
        With "right" a window fires only when the watermark is past its end.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_DURATION``, ``TRANSOM_BAD_CHOICE``.

    Examples
    --------
    >>> Session(gap="5 minutes").to_wire()["gap_us"]
    300000000
    """

    gap: Duration = field(compare=False)
    inclusive: bool = True
    closed: Closed = "left"
    _gap_us: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_gap_us", positive_micros("gap", self.gap))
        check_flag("inclusive", self.inclusive)
        check_choice("closed", self.closed, ("left", "right"))

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {
            "kind": "session",
            "gap_us": self._gap_us,
            "gap_column": None,
            "inclusive": self.inclusive,
            "closed": self.closed,
            "max_duration_us": None,
            "max_check": ">=",
            "late_start": "open",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Global(Window):
    """One window for all time, whose ``window`` is null. It needs a trigger (flink.md 1.8).

    Examples
    --------
    >>> Global().to_wire()
    {'kind': 'global'}
    """

    def to_wire(self) -> dict[str, Any]:
        """The window as it stands in the message to the JVM."""
        return {"kind": "global"}


class Sliding(Window):
    """Not a window here: the word means `Hopping` in Spark and Flink, something else in Azure.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NO_SLIDING``, always.
    """

    __slots__ = ()

    def __init__(self, *_: object, **__: object) -> None:
        self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise value_error("NO_SLIDING")
