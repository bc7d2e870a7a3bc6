"""Clocks: frozen values that say which time rows have."""

from dataclasses import dataclass, field

from pyspark.sql import Column

from transom._columns import Col, check_column, text_of
from transom._durations import Duration, not_negative


@dataclass(frozen=True, slots=True, eq=False)
class EventTime:
    """The time in a column, with Spark's watermark.

    Parameters
    ----------
    time : str or Column
        When the row happened: a timestamp, or the ``window`` of an earlier stage.
    delay : str or timedelta, optional
        How far the watermark stays behind the latest time seen. None if the DataFrame has a
        watermark already.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.

    Examples
    --------
    >>> import transom
    >>> clock = transom.EventTime("departed", delay="10 minutes")
    >>> clock == transom.EventTime("departed", delay="600 seconds")
    True
    """

    time: str | Column
    delay: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_column("time", self.time)
        if self.delay is not None:
            object.__setattr__(self, "delay", not_negative("delay", self.delay))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTime) and self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash(self._meaning())

    def _meaning(self) -> tuple[str, Duration | None]:
        # Two Columns cannot be compared: == makes a third.
        return text_of(self.time), self.delay


Time = Col | EventTime
