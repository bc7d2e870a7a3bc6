"""Clocks: frozen values that say which time rows have."""

from dataclasses import dataclass, field

from pyspark.sql import Column

from transom._columns import Col, check_column
from transom._durations import Duration, not_negative
from transom._values import Value


@dataclass(frozen=True, slots=True, eq=False)
class EventTime(Value):
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


@dataclass(frozen=True, slots=True)
class ProcessingTime(Value):
    """The wall clock: a row's time is that of its micro-batch, and nothing is late.

    A batch that is done again after a crash has the time that it had. Only streaming DataFrames
    have this clock.

    Examples
    --------
    >>> import transom
    >>> transom.ProcessingTime()
    ProcessingTime()
    """


Clock = EventTime | ProcessingTime
Time = Col | Clock
