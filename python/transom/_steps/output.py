"""The steps that add columns and side outputs to a result."""

from typing import Self

from transom._base import checks
from transom._steps.base import Steps


class OutputSteps(Steps):
    """The steps `retract`, `with_pane`, `with_late_rows` and `with_dead_letters`."""

    __slots__ = ()

    def retract(self) -> Self:
        """Add a ``change`` column, and retract each result that a later firing replaces.

        The first result of a window has the change "+I". A later result comes as two rows: "-U"
        with the previous values, then "+U" with the new values. A firing that repeats the previous
        result emits nothing. So with `with_pane`, the firing that drops a window may have no row
        that says so. When sessions merge, each result of the merged sessions is retracted
        with a row of its own.

        Returns
        -------
        Windowed
            A new builder that retracts.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging`, ``Count(partial=True)``,
            ``Session(max_duration=)``, windows over lifetimes, `Snapshot`, `Rolling`,
            `CountByStart` and `changes_only`. ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([(10,), (20,)], "delay int")
        >>> each_row = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(1))
        >>> each_row.retract().agg(F.sum("delay").alias("delay")).show()
        +------+------+-----+
        |window|change|delay|
        +------+------+-----+
        |  NULL|    +I|   10|
        |  NULL|    -U|   10|
        |  NULL|    +U|   30|
        +------+------+-----+
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> Self:
        """Add a ``pane`` column: the index of this firing within its window, and what caused it.

        The column is a struct with these fields:

        - ``index``: the number of earlier firings of the window. It is 0 for `Count` windows that
          have a number.
        - ``timing``: "early", "on_time" or "late", relative to the end of the window.
        - ``is_last``: whether the window is dropped with this firing. With an allowed lateness, a
          window is dropped at the end of the lateness, where `AfterLateness` fires.
        - ``number``: the number of the window within its key, counted from 0. Only `Count` windows
          have one, and not those with ``partial=True`` and a ``slide`` other than ``size``. It is
          null otherwise.
        - ``cause``: "watermark", "clock", "rows", "batch", "drain", or "idle" if `idle_timeout` has
          moved the watermark to the window.

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([(10,), (20,)], "delay int")
        >>> each_row = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(1))
        >>> totals = each_row.with_pane().agg(F.sum("delay").alias("delay"))
        >>> totals.select("pane.index", "pane.timing", "pane.cause", "delay").show()
        +-----+------+-----+-----+
        |index|timing|cause|delay|
        +-----+------+-----+-----+
        |    0| early| rows|   10|
        |    1| early| rows|   30|
        +-----+------+-----+-----+
        """
        return self._with("with_pane", pane=True)

    def with_late_rows(self, *, partly: bool = False) -> Self:
        """Emit late rows as a side output. Without this step late rows are only counted.

        A row is late if all of its windows are closed. With `Session` windows it must also be too
        far from each open session. With ``late_start="reject"``, such a row is late if it is before
        the watermark. The result becomes tagged rows, which `route` and `untag` split. The tag
        ``results`` has the columns of a result without this step. The tag ``late`` has these
        columns:

        - ``row``: the input row.
        - ``reason``: "late", or "late_session" for `Session` windows.
        - ``missed_windows``: the closed windows of the row, the first 1,000 in the order of their
          ends. For sessions, the session that the row alone would form.
        - ``missed_windows_truncated``: whether the row has missed further windows.
        - ``time``: the time of the row.
        - ``watermark``: the late watermark, by which the row was late.
        - ``operator``, ``query``: the name of the window operator and the id of the query.
        - ``processed_at``: the wall clock of the micro-batch.

        Parameters
        ----------
        partly : bool
            Whether to emit rows that missed only some of their windows, with the reason
            "late_partly". Such rows also count in their open windows.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        Each row comes in a batch of its own. The watermark is at 06:30 when the row of 05:50
        arrives, so the row is late.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for minutes in ["05:40", "06:30", "06:40", "05:50"]:
        ...     row = spark.createDataFrame([(f"2013-01-01 {minutes}",)], "at string")
        ...     row.coalesce(1).write.mode("append").csv(folder)
        >>> read = spark.readStream.schema("at timestamp").option("maxFilesPerTrigger", 1)
        >>> clock = transom.EventTime("at", delay="0 seconds")
        >>> by_time = transom.stream(read.csv(folder), time=clock)
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_late_rows().agg(F.count("*").alias("n"))
        >>> writer = tagged.writeStream.format("memory").queryName("tagged_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> late = transom.untag(spark.table("tagged_hours"), "late")
        >>> late.select("row.at", "reason", "watermark").show()
        +-------------------+------+-------------------+
        |                 at|reason|          watermark|
        +-------------------+------+-------------------+
        |2013-01-01 05:50:00|  late|2013-01-01 06:30:00|
        +-------------------+------+-------------------+
        """
        checks.flag("partly", partly)
        if partly:
            return self._with("with_late_rows", "partly=True", late_rows="partly")
        return self._with("with_late_rows", late_rows="late")

    def with_dead_letters(self) -> Self:
        """Emit, as a side output, the rows that cannot be assigned to a window.

        Without this step such rows are only counted. They never end a query. The result becomes
        tagged rows, as after `with_late_rows`. The tag ``dead_letters`` has the columns of
        ``late``, and one of these reasons:

        - "no_time": the time is null, or its expression failed.
        - "time_out_of_range": the time is outside of the years 1 to 9999.
        - "key_failed": an expression of `Stream.key_by` failed, see there.
        - "bad_gap": the gap of the row is null, not positive, or longer than 10,000,000 days.
        - "bad_windows": the windows of the row are null, or a window does not start before it ends.
          Windows outside of the years 1 to 9999 have this reason too.
        - "too_many_windows": the row has more than 10,000,000 windows.
        - "bad_lifetime": the lifetime of the row does not end after its start, its duration is
          null, or its expression failed. An end after the year 9999 has this reason too.

        With `TimePolicy` there are more reasons:

        - "early", "late_arrival", "out_of_order": the rule of the policy has dropped the row.
        - "no_time": the condition of `Punctuated` failed, or punctuation has no usable ``at``.
        - "no_substream": a column of ``over`` is null, or its expression failed.
        - "unknown_partition": the partition of the row is null or not among ``partitions``, or its
          expression failed.

        A row that no rule can judge moves no watermark of the policy. "no_time" and
        "time_out_of_range" then hold for the arrival time too.

        ``time`` is null if the row has no usable time. ``missed_windows`` is empty. ``watermark``
        is null before the first watermark. With `TimePolicy` it is the watermark that the row met,
        and null for a row that no rule can judge.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> rows = [("2013-01-01 05:40:00", 12), (None, 40)]
        >>> flights = spark.createDataFrame(rows, "at string, delay int")
        >>> by_time = transom.stream(flights, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_dead_letters().agg(F.count("*").alias("n"))
        >>> transom.untag(tagged, "dead_letters").select("row.delay", "reason").show()
        +-----+-------+
        |delay| reason|
        +-----+-------+
        |   40|no_time|
        +-----+-------+
        """
        return self._with("with_dead_letters", dead_letters=True)
