"""Time policies: frozen values that set the time of a row, by event time or the wall clock."""

from dataclasses import dataclass, field

from pyspark.sql import Column

from transom._base.columns import Col, check_column
from transom._base.durations import Duration, not_negative
from transom._base.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class EventTime(Value):
    """Event time: the time of a row is in a column, and Spark's watermark advances it.

    Parameters
    ----------
    time : str or Column
        When the row happened: a timestamp, or the ``window`` column of an earlier window operator.
    delay : str or timedelta, optional
        How far the watermark stays behind the latest time seen. None if the DataFrame already has a
        watermark. A static DataFrame has no watermark and ignores the delay.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_DURATION``, ``TRANSOM_NEGATIVE``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

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
    """Processing time: the time of a row is the wall clock of its micro-batch, and no row is late.

    A replayed batch has the same time again. A static DataFrame cannot use processing time.

    Examples
    --------
    >>> import transom
    >>> transom.ProcessingTime()
    ProcessingTime()
    """


Clock = EventTime | ProcessingTime
Time = Col | Clock
