"""The steps for windows over a `TimePolicy`: closing in silence, and the first result."""

from datetime import datetime
from typing import Self

from pyspark.sql import Column

from transom._base.durations import Duration
from transom._base.errors import type_error, value_error
from transom._steps.base import Steps
from transom.spec.times.idle_timeout import IdleRule, IdleTimeout
from transom.spec.times.time_policies import ProcessingTime, TimePolicy, needs_policy
from transom.spec.windows.assigners import Count, Custom, Global
from transom.spec.windows.sessions import Session
from transom.spec.windows.several import Windows


class TimeSteps(Steps):
    """The steps `idle_timeout` and `first_output`."""

    __slots__ = ()

    def idle_timeout(self, after: Duration, *, rule: IdleRule = "after_window_end") -> Self:
        """Close windows when the whole source is silent.

        Without this step a window waits until rows move the watermark past its end. With it, the
        wall clock closes windows that have rows. The watermark then moves to the end of the last
        window that closes, so that later rows of this window are late. An allowed lateness does not
        delay this.

        The wall clock time of a row is the timestamp of its micro-batch. Rows that a rule drops
        count too. A batch with rows never closes a window in this way. The timeout does not advance
        while the source has a backlog.

        Session windows close in the same way. For them, the watermark follows the wall clock as
        ``rule`` says, up to the end of the last session.

        Parameters
        ----------
        after : str or timedelta
            The timeout, by the wall clock.
        rule : str
            When a window closes. "after_window_end": ``after`` has passed since the last row and
            since the end of the window. "greater_of": ``after`` has passed since the last row, and
            the wall clock has reached the end of the window. "last_row": ``after`` has passed since
            the last row, whatever the end of the window.

        Returns
        -------
        Windowed
            A new builder with this timeout.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`, and
            ``TRANSOM_NOT_EVENT_TIME`` if it is the wall clock. ``TRANSOM_UNBOUNDED_WINDOW`` for
            windows whose end the policy does not know: `Global`, `Count`, `Custom`, and `Session`
            with a gap for each row. ``TRANSOM_TIME_POLICY_UNSUPPORTED`` for a `TimePolicy` with
            ``over``, whose ``estimate_arrival`` closes windows in silence. ``TRANSOM_CONFLICT`` for
            `Windows`, windows over lifetimes, `Snapshot`, `Rolling` and `CountByStart`.
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_BAD_DURATION``, ``TRANSOM_NOT_POSITIVE``,
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The source has one row of the year 2013 and is silent after it. Its window closes when the
        source has been silent for a second, as the end of the window has long passed.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> row = spark.createDataFrame([("2013-01-01 05:40",)], "at string")
        >>> row.write.mode("append").csv(folder)
        >>> flights = spark.readStream.schema("at timestamp").csv(folder)
        >>> by_time = transom.stream(flights, time=transom.TimePolicy("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour")).idle_timeout("1 second")
        >>> counts = hours.agg(F.count("*").alias("n"))
        >>> query = counts.writeStream.format("memory").queryName("silent_hours").start()
        >>> while spark.table("silent_hours").isEmpty():
        ...     _ = query.awaitTermination(1)
        >>> query.stop()
        >>> spark.table("silent_hours").select("window.start", "n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 05:00:00|  1|
        +-------------------+---+
        """
        timeout = IdleTimeout(after=after, rule=rule)
        spec = self._spec
        if isinstance(spec.time, ProcessingTime):
            raise value_error("NOT_EVENT_TIME", argument="idle_timeout")
        if not isinstance(spec.time, TimePolicy):
            raise needs_policy("idle_timeout", spec.time)
        if spec.time.over:
            raise value_error(
                "TIME_POLICY_UNSUPPORTED", argument="idle_timeout", setting="idle_timeout"
            )
        window = spec.window
        has_row_gaps = isinstance(window, Session) and isinstance(window.gap, Column)
        if has_row_gaps or isinstance(window, Global | Count | Custom):
            raise value_error("UNBOUNDED_WINDOW", argument="idle_timeout", window=window)
        if isinstance(window, Windows):
            why = "a timeout follows the ends of one kind of windows"
            raise value_error(
                "CONFLICT",
                argument="idle_timeout",
                step="idle_timeout()",
                other="Windows",
                why=why,
            )
        arguments = f"{timeout.after!r}, rule={timeout.rule!r}"
        return self._with("idle_timeout", arguments, idle_timeout=timeout)

    def first_output(self, at: datetime) -> Self:
        """Emit no result of a window that ends before an instant.

        A new query usually starts in the middle of a window, and reads only a part of its rows. Set
        the instant from which results must be complete, and let the source start at
        `earliest_input`.

        Parameters
        ----------
        at : datetime
            The end of the first window whose result is emitted. As in `createDataFrame`, a datetime
            without a time zone is in the local time zone.

        Returns
        -------
        Windowed
            A new builder with this start.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`.
            ``TRANSOM_UNBOUNDED_WINDOW`` for `Global` and `Count` windows. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> from datetime import datetime
        >>> rows = [["2013-01-01 05:40"], ["2013-01-01 06:10"]]
        >>> flights = spark.createDataFrame(rows, "at string")
        >>> by_time = transom.stream(flights, time=transom.TimePolicy(F.to_timestamp("at")))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> later = hours.first_output(datetime(2013, 1, 1, 7)).agg(F.count("*").alias("n"))
        >>> later.select("window.start", "n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 06:00:00|  1|
        +-------------------+---+
        """
        if not isinstance(at, datetime) or at != at:
            raise type_error("at", at, "a datetime, such as datetime(2013, 1, 1)")
        if not isinstance(self._spec.time, TimePolicy):
            raise needs_policy("first_output", self._spec.time)
        if isinstance(self._spec.window, Global | Count):
            raise value_error("UNBOUNDED_WINDOW", argument="first_output", window=self._spec.window)
        return self._with("first_output", repr(at), first_output=at)
