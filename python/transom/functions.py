"""The `Context` of a function of `Windowed.apply`."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import Row


class State(dict[str, Any]):
    """State by name, with a helpful error for a name that the schema does not have."""

    def __missing__(self, name: str) -> Any:
        """Raise a KeyError that says where to declare the name."""
        raise KeyError(f"the state has no {name!r}: add it to the schema, as in '{name} long'")


@dataclass(frozen=True, slots=True)
class Context:
    """The key, window and time of a call of a `Windowed.apply` function.

    Timestamps are `datetime` values in UTC. Spark has times outside of the years 1 to 9999, which
    Python lacks: the end of the day 9999-12-31 is one. Such a time in the key, the window, the
    watermark or the state is ``datetime.min`` or ``datetime.max``, and a date ``date.min`` or
    ``date.max``. So are the dates of rows in pandas form, and their times in structs, in the time
    zone of the session. Results keep the times of Spark.

    Attributes
    ----------
    key : Row
        The values of the keys, by name. Empty without keys.
    window : Row or None
        ``start`` and ``end`` of the window. None for `Global` windows, and for `Count` windows over
        rows without time.
    window_id : str or None
        The id of the window, for `Windows` with ids.
    pane : Row or None
        The fields that `Windowed.with_pane` describes. None without that step. Write
        ``pane["index"]``, because ``pane.index`` is a method of a Row.
    watermark : datetime or None
        The watermark when the window fired. None before the first watermark, before 1970, for
        static DataFrames without a `TimePolicy`, and after a drain has ended the input.
    clock : datetime
        The wall clock: the start of the micro-batch, or of the query over a static DataFrame.
    window_state : dict
        State of this key and window, by name, for functions with ``window_state``. Values that a
        function sets are there in its next call: a struct as a Row, a map as a dict. They are None
        in the first call, and are dropped with the window.
    key_state : dict
        State of this key, by name, for functions with ``key_state``. It is never dropped.

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
    window_state: dict[str, Any] = field(default_factory=State)
    key_state: dict[str, Any] = field(default_factory=State)
    _outputs: list[tuple[str, Any]] = field(default_factory=list, repr=False)

    def output(self, name: str, rows: Any) -> None:
        """Emit rows to a named output of `Windowed.apply`.

        Parameters
        ----------
        name : str
            Name of the output, one of the keys of ``outputs``.
        rows : pyarrow.Table or pandas.DataFrame
            The rows, of the type that the function returns, with the columns in the schema of the
            output.

        Raises
        ------
        PySparkRuntimeError
            ``TRANSOM_FUNCTION_SCHEMA`` for an unknown output or other columns. The worker raises it
            after the function has returned.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import pyarrow.compute as pc
        >>> def split(rows, context):
        ...     is_long = pc.field("delay") > 30
        ...     context.output("long", rows.select(["delay"]).filter(is_long))
        ...     return rows.select(["delay"]).filter(~is_long)
        >>> rows = spark.createDataFrame([("JFK", 12), ("JFK", 40)], "origin string, delay int")
        >>> by_origin = transom.stream(rows).key_by("origin").window(transom.Global())
        >>> tagged = by_origin.trigger(transom.EndOfStream()).apply(
        ...     split, "delay int", outputs={"long": "delay int"}
        ... )
        >>> transom.untag(tagged, "long").show()
        +------+------+-----+
        |origin|window|delay|
        +------+------+-----+
        |   JFK|  NULL|   40|
        +------+------+-----+
        """
        self._outputs.append((name, rows))
