"""Clocks: what windows take for the time of a row."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column

from transom.durations import Duration, natural_micros
from transom.errors import type_error


@dataclass(frozen=True, slots=True, eq=False)
class EventTime:
    """The time in a column, with Spark's watermark: one a batch, ``delay`` behind the latest time.

    Parameters
    ----------
    time : str or Column
        The rows' time, a timestamp; text is a column name.
    delay : str or timedelta, optional
        How far rows may be out of order. None: the DataFrame has a watermark already.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``.

    Examples
    --------
    >>> EventTime("departed", delay="10 minutes").delay
    '10 minutes'
    """

    time: str | Column
    delay: Duration | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.time, (str, Column)):
            raise type_error("time", "a column or its name", self.time)
        if self.delay is not None:
            natural_micros("delay", self.delay)

    @property
    def delay_us(self) -> int | None:
        """The delay in microseconds."""
        return None if self.delay is None else natural_micros("delay", self.delay)
