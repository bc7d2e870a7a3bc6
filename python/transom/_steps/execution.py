"""The steps that set how a query runs."""

from inspect import signature
from typing import Self

from transom._base.durations import Duration
from transom._base.misplaced import keyword_hints
from transom._steps.base import Steps
from transom._steps.hints import OPTIONS_KEYWORDS
from transom.spec.window_spec import Layout


class ExecutionSteps(Steps):
    """The steps `drain` and `options`."""

    __slots__ = ()

    def drain(self) -> Self:
        """Fire all open windows when a run with ``trigger(availableNow=True)`` ends.

        Such a run also ends the checkpoint, and logs a warning about this when it starts. A later
        ``availableNow`` run without new rows ends at once. A later run with new rows, or with
        another trigger, fails with ``TRANSOM_DRAINED``. Before that, runs with other triggers,
        ``once=True`` included, ignore this step.

        Call this step from the first run on. The step adds a source to the query, and Spark
        requires the same number of sources for each run of a checkpoint.

        Returns
        -------
        Windowed
            A new builder that drains.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Warns
        -----
        TransomWarning
            ``TRANSOM_ROWS_LEFT`` for windows of a stream that leave rows without a result when it
            ends: `Count` windows that are not full, and `Global` windows whose trigger does not
            fire then.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> row = spark.createDataFrame([("2013-01-01 05:40",)], "at string")
        >>> row.write.mode("append").csv(folder)
        >>> flights = spark.readStream.schema("at timestamp").csv(folder)
        >>> clock = transom.EventTime("at", delay="10 minutes")
        >>> hours = transom.stream(flights, time=clock).window(transom.Tumbling(size="1 hour"))
        >>> counts = hours.drain().agg(F.count("*").alias("n"))
        >>> writer = counts.writeStream.format("memory").queryName("drained_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> spark.table("drained_hours").show()
        +--------------------+---+
        |              window|  n|
        +--------------------+---+
        |{2013-01-01 05:00...|  1|
        +--------------------+---+
        """
        step = self._with("drain", drain=True)
        # One decorator is between this frame and the user's.
        step._check_drained(levels=4)
        return step

    @keyword_hints(OPTIONS_KEYWORDS)
    def options(
        self,
        *,
        name: str | None = None,
        key_groups: int = 128,
        layout: Layout = "auto",
        tick: Duration = "1 second",
        row_log: int = 60,
    ) -> Self:
        """Tune execution.

        Three options can change results:

        - ``key_groups`` moves the windows of a `Tumbling` with a ``stagger``.
        - ``tick`` sets how often the wall clock can fire windows of keys without new rows.
        - ``layout`` affects aggregates that depend on the order of rows, if `stream` has no
          ``order``.

        Parameters
        ----------
        name : str, optional
            Name of the window operator in metrics and in the checkpoint.
        key_groups : int
            Number of hash ranges that the keys are split into. At most this many tasks share the
            work.
        layout : {"auto", "slices", "keyed"}
            State layout: "slices" is the slice log, "keyed" stores one entry for each key. "auto"
            uses the slice log wherever it can run the windows.
        tick : str or timedelta
            Period of the ticks that advance the wall clock of keys without new rows. These use
            ticks: `ProcessingTime`, triggers by the wall clock, `idle_timeout`, and
            `TimePolicy(idle_partition=)` and `TimePolicy(estimate_arrival=)`.
        row_log : int
            Maximum number of rows that each executor logs per minute. It logs dead letters, and
            rows that a rule of the `TimePolicy` drops or moves. A record has the reason, the time
            and the watermark, but not the row. The logger is
            ``org.apache.spark.sql.transom.exchange.RowLog``, at level WARN. With 0, no row is
            logged.

        Returns
        -------
        Windowed
            A new builder with these options.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_NAME``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_NEGATIVE``,
            ``TRANSOM_BAD_DURATION``, ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
            ``TRANSOM_CONFLICT`` for ``layout="slices"`` with lifetimes.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([("JFK", 12)], "origin string, delay int")
        >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
        >>> totals = total.options(name="totals", key_groups=16).agg(F.sum("delay").alias("delay"))
        >>> print(transom.explain(totals))
        totals
          ...
          key groups  16
          ...
        >>> totals.show()
        +------+-----+
        |window|delay|
        +------+-----+
        |  NULL|   12|
        +------+-----+
        """
        options = {
            "name": name,
            "key_groups": key_groups,
            "layout": layout,
            "tick": tick,
            "row_log": row_log,
        }
        defaults = signature(ExecutionSteps.options).parameters
        given = [
            f"{option}={value!r}"
            for option, value in options.items()
            if value != defaults[option].default
        ]
        return self._with("options", ", ".join(given), **options)
