"""The steps that set when a window fires and which rows it has."""

from datetime import timedelta
from typing import Self
from warnings import warn

from transom._base.durations import Duration, not_negative
from transom._base.errors import type_error, value_error, warning
from transom._base.misplaced import keyword_hints
from transom._base.values import is_kind_of
from transom._steps.base import Steps
from transom._steps.hints import TRIGGER_KEYWORDS
from transom.spec.firing.evictors import Evictor
from transom.spec.firing.rows_left import (
    may_leave_late_rows,
    may_leave_rows,
    rows_left,
    waits_for_end,
    with_late,
)
from transom.spec.firing.triggers import Trigger, check_trigger
from transom.spec.times.time_policies import EventClock


class FiringSteps(Steps):
    """The steps `trigger`, `evictor` and `allowed_lateness`."""

    __slots__ = ()

    @keyword_hints(TRIGGER_KEYWORDS)
    def trigger(self, trigger: Trigger) -> Self:
        """Set when a window fires.

        Without this step a window fires at its end, and again for each late row within its allowed
        lateness. These triggers give a `TransomWarning`:

        - one that does not fire at the end of windows, because rows that arrive after its last
          firing are in no result,
        - with an `allowed_lateness`, one that does not fire for each late row,
        - one that fires only at the end of windows, for the `Global` windows of a stream, which
          have no end,
        - with `drain`, one that does not fire the `Global` windows of a stream when it ends.

        Parameters
        ----------
        trigger : Trigger
            The trigger. `Global` windows have no end and need one. `Count` windows fire when they
            are full and accept no trigger, and neither do sessions with a maximum duration.

        Returns
        -------
        Windowed
            A new builder with this trigger.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CANNOT_MERGE`` for `AfterDelta` and `ProcessingTimeout` with windows that
            merge. ``TRANSOM_NO_CLOCK`` for `AfterWatermark`, `AfterLateness` and `Every` by the
            watermark without event time. ``TRANSOM_CONFLICT`` for `Count` windows, for
            ``Session(max_duration=)``, for windows over lifetimes, `Snapshot`, `Rolling` and
            `CountByStart`, after `changes_only`, for `EveryBatch` with `evictor`, for `Purging`
            with `retract`, and for `AfterClock` with `Global`. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The window fires when it has two rows. The third row waits for a fourth row.

        >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
        >>> pairs = transom.stream(rows).window(transom.Global()).trigger(transom.AfterCount(2))
        >>> pairs.agg(F.count("*").alias("n"), F.sum("delay").alias("delay")).show()
        +------+---+-----+
        |window|  n|delay|
        +------+---+-----+
        |  NULL|  2|   30|
        +------+---+-----+
        """
        check_trigger("trigger", trigger)
        step = self._with("trigger", repr(trigger), trigger=trigger)
        window = self._spec.window
        time = self._spec.time
        kind = type(trigger).__name__
        # Two decorators are between this frame and the user's.
        if may_leave_rows(trigger, window, time, self._is_streaming):
            left = rows_left(trigger, window, time)
            warn(warning("ROWS_LEFT", reason=left.reason, instead=left.instead), stacklevel=4)
        if waits_for_end(trigger, window, self._is_streaming):
            warn(warning("NO_END", trigger=kind), stacklevel=4)
        step._check_drained(levels=5)
        step._check_late_rows(levels=5)
        return step

    def _check_late_rows(self, levels: int) -> None:
        """Warn of a trigger and a lateness that leave late rows, in the line of the user."""
        spec = self._spec
        if spec.trigger is None or spec.allowed_lateness == timedelta():
            return
        if may_leave_late_rows(spec.trigger, spec.window, spec.time, self._is_streaming):
            kind = type(spec.trigger).__name__
            fix = with_late(spec.trigger)
            warn(warning("LATE_ROWS_LEFT", trigger=kind, instead=fix), stacklevel=levels)

    def evictor(self, evictor: Evictor) -> Self:
        """Set which rows a window keeps when it fires.

        Without this step a window keeps all rows.

        Parameters
        ----------
        evictor : Evictor
            The evictor. Windows with an evictor store their rows in the state, not only partial
            aggregates.

        Returns
        -------
        Windowed
            A new builder with this evictor.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `EveryBatch`, `retract`, ``Count(partial=True)``,
            ``Session(max_duration=)``, windows over lifetimes, `Snapshot`, `Rolling`,
            `CountByStart` and `changes_only`. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        The sum covers the last two rows.

        >>> rows = spark.createDataFrame([(10,), (20,), (40,)], "delay int")
        >>> total = transom.stream(rows).window(transom.Global()).trigger(transom.EndOfStream())
        >>> total.evictor(transom.KeepLast(2)).agg(F.sum("delay").alias("delay")).show()
        +------+-----+
        |window|delay|
        +------+-----+
        |  NULL|   60|
        +------+-----+
        """
        if not is_kind_of(Evictor, evictor):
            expected = "an evictor of transom, such as transom.KeepLast(100)"
            raise type_error("evictor", evictor, expected)
        return self._with("evictor", repr(evictor), evictor=evictor)

    def allowed_lateness(self, lateness: Duration) -> Self:
        """Keep a window after its end, so that late rows fire it again.

        Without this step the lateness is 0: a window is dropped when it fires at its end. With the
        trigger `AfterLateness`, late rows do not fire the window. It fires once, when the lateness
        is over.

        Parameters
        ----------
        lateness : str or timedelta
            How long a window is kept after its end, in event time.

        Returns
        -------
        Windowed
            A new builder with this lateness.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``,
            ``TRANSOM_SET_TWICE``. ``TRANSOM_CONFLICT`` with ``Session(max_duration=)``, windows
            over lifetimes, `Snapshot`, `Rolling`, `CountByStart` and `changes_only`.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.

        Examples
        --------
        Each row comes in a batch of its own. The watermark is at 06:30 when the row of 05:50
        arrives. The window has fired by then, and fires again with both of its rows.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for minutes in ["05:40", "06:30", "06:40", "05:50"]:
        ...     row = spark.createDataFrame([(f"2013-01-01 {minutes}",)], "at string")
        ...     row.coalesce(1).write.mode("append").csv(folder)
        >>> read = spark.readStream.schema("at timestamp").option("maxFilesPerTrigger", 1)
        >>> clock = transom.EventTime("at", delay="0 seconds")
        >>> by_time = transom.stream(read.csv(folder), time=clock)
        >>> hours = by_time.window(transom.Tumbling(size="1 hour"))
        >>> counts = hours.allowed_lateness("1 hour").agg(F.count("*").alias("n"))
        >>> writer = counts.writeStream.format("memory").queryName("kept_hours")
        >>> writer.trigger(availableNow=True).start().awaitTermination()
        >>> spark.table("kept_hours").select("window.start", "n").orderBy("n").show()
        +-------------------+---+
        |              start|  n|
        +-------------------+---+
        |2013-01-01 05:00:00|  1|
        |2013-01-01 05:00:00|  2|
        +-------------------+---+
        """
        length = not_negative("lateness", lateness)
        if not isinstance(self._spec.time, EventClock):
            raise value_error("NOT_EVENT_TIME", argument="lateness")
        step = self._with("allowed_lateness", repr(length), allowed_lateness=length)
        # One decorator is between this frame and the user's.
        step._check_late_rows(levels=4)
        return step
