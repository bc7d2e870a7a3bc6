"""Several windows of Azure Stream Analytics in one query step."""

from dataclasses import dataclass

from transom._base import checks
from transom._base.errors import type_error, value_error
from transom.spec.windows import assigners
from transom.spec.windows import several as spec


@dataclass(frozen=True, slots=True)
class Window:
    """A window with an id, for `Windows`.

    Parameters
    ----------
    id : str
        The value of the column ``window_id``, which is ``System.Window().Id``.
    window : Tumbling, Hopping, Rolling, Session or Snapshot
        One of the windows of this preset.

    Raises
    ------
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> minute = transom.azure.Window("minute", transom.azure.TumblingWindow("minute", 1))
    >>> rows = spark.createDataFrame([("2024-01-01 00:00:30",)], "at string")
    >>> readings = rows.select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> counts = events.window(transom.azure.Windows(minute)).agg(n=F.count("*"))
    >>> counts.select("window.end", "window_id", "n").show()
    +-------------------+---------+---+
    |                end|window_id|  n|
    +-------------------+---------+---+
    |2024-01-01 00:01:00|   minute|  1|
    +-------------------+---------+---+
    """

    id: str
    window: assigners.Window

    def __post_init__(self) -> None:
        checks.text("id", self.id)
        if not isinstance(self.window, assigners.Window):
            raise type_error("window", self.window, "a window such as TumblingWindow('minute', 1)")


def Windows(*windows: Window | assigners.Window) -> spec.Windows:
    """Return the windows of ``Windows(...)``: the union of the results of each.

    Either all windows have an id, by `Window`, or none has. The column ``window_id`` of a result is
    its ``System.Window().Id``.

    Parameters
    ----------
    *windows : Window, or a window of this preset
        The windows, with ids or without.

    Returns
    -------
    transom.Windows
        The argument of `transom.Stream.window`.

    Raises
    ------
    PySparkValueError
        ``TRANSOM_BAD_WINDOW_IDS`` without windows, for ids on some windows only, for an empty id,
        and for ids that are equal but for upper and lower case. ``TRANSOM_BAD_CHOICE`` for
        ``Windows`` in ``Windows``.
    PySparkTypeError
        ``TRANSOM_BAD_TYPE``.

    Examples
    --------
    >>> rows = [("2024-01-01 00:00:30",), ("2024-01-01 00:01:01",)]
    >>> readings = spark.createDataFrame(rows, "at string").select(F.to_timestamp("at").alias("at"))
    >>> events = transom.azure.stream(readings, arrival="at", timestampBy="at")
    >>> windows = transom.azure.Windows(
    ...     transom.azure.Window("1 min", transom.azure.TumblingWindow("minute", 1)),
    ...     transom.azure.Window("2 min", transom.azure.HoppingWindow("minute", 2, 1)),
    ... )
    >>> counts = events.window(windows).agg(F.count("*").alias("n"))
    >>> counts.select("window.end", "window_id", "n").orderBy("end", "window_id").show()
    +-------------------+---------+---+
    |                end|window_id|  n|
    +-------------------+---------+---+
    |2024-01-01 00:01:00|    1 min|  1|
    |2024-01-01 00:01:00|    2 min|  1|
    |2024-01-01 00:02:00|    1 min|  1|
    |2024-01-01 00:02:00|    2 min|  2|
    |2024-01-01 00:03:00|    2 min|  1|
    +-------------------+---------+---+
    """
    named = [window for window in windows if isinstance(window, Window)]
    if not named:
        return spec.Windows([window for window in windows if not isinstance(window, Window)])
    if len(named) < len(windows):
        raise value_error("BAD_WINDOW_IDS", argument="windows", why="only some windows have an id")
    by_id: dict[str, assigners.Window] = {}
    for window in named:
        if window.id in by_id:
            why = f"two windows have the id {window.id!r}"
            raise value_error("BAD_WINDOW_IDS", argument="windows", why=why)
        by_id[window.id] = window.window
    return spec.Windows(by_id)
