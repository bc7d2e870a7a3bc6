"""Functions over the rows of each key in the order of time, without windows."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from transom._base.columns import Schema, all_but
from transom._base.misplaced import Hinted
from transom._calls import applying
from transom.spec.window_spec import RowsForm
from transom.windowed import Rows, Windowed


class Scanning(Hinted):
    """The method `scan` of a stream."""

    __slots__ = ()

    def _at_each_time(self) -> Windowed:
        """Return windows that hold the rows of a key with one time."""
        raise NotImplementedError

    def scan(
        self,
        fn: Callable[..., Rows],
        schema: Schema,
        *,
        form: RowsForm = "arrow",
        state: Schema | None = None,
    ) -> DataFrame:
        """Call a Python function with the rows of each key in the order of their times.

        There is no window. The function sees a row once the watermark is past its time, so no
        earlier row follows. One call has the rows of one key and one time. This is StreamInsight's
        user-defined stream operator.

        Parameters
        ----------
        fn : callable
            As in `Windowed.apply`. ``context.key_state`` has the state of the key, by name.
            ``context.window.start`` is the time of the rows. ``context.watermark`` says how far
            time has come: the next rows of the key are not before it.
        schema : str or StructType
            The columns that ``fn`` returns, as in `Windowed.apply`.
        form : {"arrow", "pandas"}
            The type of the rows that ``fn`` receives and returns.
        state : str or StructType, optional
            Schema of ``context.key_state``, which is kept for each key without limit.

        Returns
        -------
        DataFrame
            The keys, and the columns of ``schema``.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NO_CLOCK`` without a time, ``TRANSOM_NOT_EVENT_TIME`` for `ProcessingTime`,
            and the conditions of `Windowed.apply`.
        PySparkTypeError, PySparkRuntimeError, IllegalArgumentException
            The conditions of `Windowed.apply`.

        Notes
        -----
        Late rows are counted. The lifetimes of rows have no effect: their columns are among the
        rows.

        Examples
        --------
        The function returns how long each machine kept its state.

        >>> import pyarrow as pa
        >>> rows = [("m1", "05:00", "on"), ("m1", "05:30", "off"), ("m1", "05:10", "on")]
        >>> states = spark.createDataFrame(rows, "machine string, at string, state string")
        >>> by_machine = transom.stream(states, time=F.to_timestamp("at")).key_by("machine")
        >>> schema = pa.schema([("was", pa.string()), ("minutes", pa.int64())])
        >>> def minutes(rows, context):
        ...     state, now = rows["state"][0].as_py(), context.window.start
        ...     before, since = context.key_state["state"], context.key_state["since"]
        ...     kept = []
        ...     if state != before:
        ...         context.key_state.update(state=state, since=now)
        ...         if before is not None:
        ...             kept = [{"was": before, "minutes": (now - since).seconds // 60}]
        ...     return pa.Table.from_pylist(kept, schema)
        >>> by_machine.scan(
        ...     minutes, "was string, minutes long", state="state string, since timestamp"
        ... ).show()
        +-------+---+-------+
        |machine|was|minutes|
        +-------+---+-------+
        |     m1| on|     30|
        +-------+---+-------+
        """
        applying.check_function("fn", fn)
        if state is not None:
            applying.schema_of("state", state, ())
            applying.check_takes_context("fn", fn, "state")
        rows = self._at_each_time()
        return rows.apply(fn, schema, form=form, key_state=state).select(all_but("window"))
