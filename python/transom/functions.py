"""What functions over windows are told beside the rows."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Row


@dataclass(frozen=True, slots=True)
class Context:
    """Which window a function is called for, and when; `Windowed.apply` hands it over.

    Instants are `datetime` values in UTC.

    Attributes
    ----------
    key : Row
        The values of the keys, by name; no fields without keys.
    window : Row or None
        ``start`` and ``end``; None for `Global` windows, and for `Count` windows of rows without
        time.
    window_id : str or None
        Always None: a stage has one window.
    pane : Row or None
        As `Windowed.with_pane` has it; None without that step.
    watermark : datetime or None
        How far event time had come when the window fired. None before the first watermark, for
        static DataFrames, and when time has ended.
    clock : datetime
        The wall clock: when the micro-batch, or the query over a static DataFrame, began.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> now = datetime(2013, 1, 1, 6, tzinfo=UTC)
    >>> context = Context(Row(origin="JFK"), None, None, None, None, now)
    >>> context.key["origin"]
    'JFK'
    """

    key: Row
    window: Row | None
    window_id: str | None
    pane: Row | None
    watermark: datetime | None
    clock: datetime
