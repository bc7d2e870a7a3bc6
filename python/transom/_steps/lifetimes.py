"""The steps for the lifetimes and the watermarks of results."""

from typing import Self, get_args

from transom._base import checks
from transom._base.errors import value_error
from transom._steps.base import Steps
from transom.spec.times.time_policies import TimePolicy, needs_policy
from transom.spec.window_spec import OutputPolicy


class LifetimeSteps(Steps):
    """The steps `output_policy`, `changes_only` and `with_watermarks`."""

    __slots__ = ()

    def output_policy(self, policy: OutputPolicy) -> Self:
        """Add a ``lifetime`` column: how long a result lasts.

        The column is a struct of ``start`` and ``end``. A further operator can read it, with
        ``time="lifetime.start", lifetime="lifetime.end"``. In a stream, this needs a `TimePolicy`,
        and windows on a grid with the second policy. The policies are those of StreamInsight.

        Parameters
        ----------
        policy : {"point_align_to_window_end", "clip_to_window_end"}
            With the first, a result is a point: it starts at the end of its window and lasts one
            microsecond. No two results of a key then last at the same time. The point of a
            `CountByStart` window is on its last row, but within `Windows` it is at the end of its
            window. With the second policy, a result lasts as long as its window. Results of
            overlapping windows overlap too.

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_UNBOUNDED_WINDOW`` for `Global` and `Count` windows. ``TRANSOM_CONFLICT`` for
            the first policy with `Snapshot` windows, and for the second one with `with_watermarks`
            unless windows lie on a grid. ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        >>> rows = spark.createDataFrame([["2013-01-01 05:40"]], "at string")
        >>> by_time = transom.stream(rows, time=F.to_timestamp("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> points = hours.output_policy("point_align_to_window_end").agg(F.count("*").alias("n"))
        >>> points.select("lifetime.start", "lifetime.end", "n").show(truncate=False)
        +-------------------+--------------------------+---+
        |start              |end                       |n  |
        +-------------------+--------------------------+---+
        |2013-01-01 06:00:00|2013-01-01 06:00:00.000001|1  |
        +-------------------+--------------------------+---+
        """
        checks.choice("policy", policy, get_args(OutputPolicy))
        return self._with("output_policy", repr(policy), output_policy=policy)

    def changes_only(self) -> Self:
        """Leave out the result of a window that holds the same rows as the window before.

        Overlapping windows, and windows over lifetimes, repeat a result as long as no row comes and
        none ends. With this step, a result holds until the next one. If a window has no rows, the
        next window with rows has a result again. The windows need the keyed layout.

        Returns
        -------
        Windowed
            A new builder whose results are not repeated.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` for `Session`, `Count`, `Custom` and `Global` windows, with
            `trigger`, `evictor`, `retract`, `allowed_lateness` and `idle_timeout`, and for `apply`.
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_SET_TWICE``.

        Examples
        --------
        The plane is in the air from 05:40 to 08:10. The windows of 06:00 and 07:00 hold the same
        rows as the first one.

        >>> rows = [("05:40", "08:10"), ("08:05", "08:30")]
        >>> flights = spark.createDataFrame(rows, "departed string, landed string")
        >>> times = [F.to_timestamp(F.concat(F.lit("2013-01-01 "), name)).alias(name)
        ...          for name in ("departed", "landed")]
        >>> in_air = transom.stream(flights.select(*times), time="departed", lifetime="landed")
        >>> hours = in_air.window_all(transom.Tumbling(size="1 hour"))
        >>> planes = hours.changes_only().agg(F.count("*").alias("planes"))
        >>> planes.select("window.start", "planes").orderBy("start").show()
        +-------------------+------+
        |              start|planes|
        +-------------------+------+
        |2013-01-01 05:00:00|     1|
        |2013-01-01 08:00:00|     2|
        +-------------------+------+
        """
        return self._with("changes_only", changes_only=True)

    def with_watermarks(self) -> Self:
        """Emit, as a side output, the watermark of the results whenever it moves.

        A watermark promises that no later result starts before it, unless an `allowed_lateness`
        lets a window fire again. The result becomes tagged rows, as after `with_late_rows`. The tag
        ``watermarks`` has these columns:

        - ``watermark``: the watermark after a micro-batch. This is the watermark of the
          `TimePolicy`, unless results last as long as their windows (`output_policy`). Then it is
          the start of the earliest window that is still open. At the end of the input it is the
          last instant of the year 9999.
        - ``at``: the wall clock of the micro-batch.

        Another query can import these rows as punctuation.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NEEDS_TIME_POLICY`` if the time of the stream is no `TimePolicy`.
            ``TRANSOM_CONFLICT`` with ``TimePolicy(over=)``, and with the policy
            "clip_to_window_end" unless windows lie on a grid. ``TRANSOM_SET_TWICE``.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> rows = spark.createDataFrame([["2013-01-01 05:40"], ["2013-01-01 06:10"]], "at string")
        >>> rows.coalesce(1).write.mode("append").csv(folder)
        >>> stream = spark.readStream.schema("at timestamp").csv(folder)
        >>> by_time = transom.stream(stream, time=transom.TimePolicy("at"))
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> tagged = hours.with_watermarks().agg(F.count("*").alias("n"))
        >>> writer = tagged.writeStream.format("memory").queryName("watermarked")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> transom.untag(spark.table("watermarked"), "watermarks").select("watermark").show()
        +-------------------+
        |          watermark|
        +-------------------+
        |2013-01-01 06:10:00|
        +-------------------+
        """
        time = self._spec.time
        if not isinstance(time, TimePolicy):
            raise needs_policy("with_watermarks", time)
        if time.over:
            raise value_error(
                "CONFLICT",
                argument="with_watermarks",
                step="with_watermarks()",
                other="TimePolicy(over=)",
                why="each substream has a watermark of its own",
            )
        return self._with("with_watermarks", watermarks=True)
