"""The optional steps between `Stream.window` and a result: trigger, lateness and the like."""

from dataclasses import dataclass, replace
from typing import Any, Self

from pyspark.sql import DataFrame

from transom import _checks
from transom._durations import Duration, not_negative
from transom._errors import type_error, value_error
from transom.evictors import Evictor
from transom.spec import Layout, WindowSpec
from transom.time_policies import EventTime
from transom.triggers import Trigger, check_trigger


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Steps:
    """Base class of `Windowed` with its optional steps."""

    _df: DataFrame
    _spec: WindowSpec
    _steps: frozenset[str] = frozenset()

    def trigger(self, trigger: Trigger) -> Self:
        """Set when a window fires.

        Without this step a window fires at its end, and again for each late row within its allowed
        lateness.

        Parameters
        ----------
        trigger : Trigger
            The trigger. `Global` windows have no end and need one. `Count` windows fire when they
            are full and accept no trigger.

        Returns
        -------
        Windowed
            A new builder with this trigger.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CANNOT_MERGE`` for `AfterDelta` and `ProcessingTimeout` with windows that
            merge. ``TRANSOM_NO_CLOCK`` for `AfterWatermark` and `Every` by the watermark without
            event time. ``TRANSOM_CONFLICT`` for `Count` windows, for `EveryBatch` with `evictor`,
            and for `Purging` with `retract`. ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        check_trigger("trigger", trigger)
        return self._with("trigger", trigger=trigger)

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
            ``TRANSOM_CONFLICT`` with `EveryBatch`, `retract` and ``Count(partial=True)``.
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if not isinstance(evictor, Evictor):
            raise type_error("evictor", evictor, "an evictor such as transom.KeepLast(100)")
        return self._with("evictor", evictor=evictor)

    def allowed_lateness(self, lateness: Duration) -> Self:
        """Keep a window after its end, so that late rows fire it again.

        Without this step the lateness is 0: a window is dropped when it fires at its end.

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
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        length = not_negative("lateness", lateness)
        if not isinstance(self._spec.time, EventTime):
            raise value_error("NOT_EVENT_TIME", argument="lateness")
        return self._with("allowed_lateness", allowed_lateness=length)

    def retract(self) -> Self:
        """Add a ``change`` column, and retract each result that a later firing replaces.

        The first result of a window has the change "+I". A later result comes as two rows: "-U"
        with the previous values, then "+U" with the new values. A firing that repeats the previous
        result emits nothing. When sessions merge, each result of the merged sessions is retracted
        with a row of its own.

        Returns
        -------
        Windowed
            A new builder that retracts.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging` and ``Count(partial=True)``.
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> Self:
        """Add a ``pane`` column: the index of this firing within its window, and what caused it.

        The column is a struct with these fields:

        - ``index``: the number of earlier firings of the window. It is 0 for `Count` windows.
        - ``timing``: "early", "on_time" or "late", relative to the end of the window.
        - ``is_last``: whether the window is dropped with this firing.
        - ``number``: the number of the window within its key, counted from 0. Only `Count` windows
          have one, and not those with ``partial=True`` and a ``slide`` other than ``size``. It is
          null otherwise.
        - ``cause``: "watermark", "clock", "rows", "batch" or "drain".

        Returns
        -------
        Windowed
            A new builder whose results have this column.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_pane", pane=True)

    def with_late_rows(self, *, partly: bool = False) -> Self:
        """Emit late rows as a side output. Without this step late rows are only counted.

        A row is late if all of its windows are closed. With `Session` windows it must also be too
        far from each open session. The result becomes tagged rows, which `route` and `untag` split.
        The tag ``results`` has the columns of a result without this step. The tag ``late`` has
        these columns:

        - ``row``: the input row.
        - ``reason``: "late", or "late_session" for `Session` windows.
        - ``missed_windows``: the closed windows of the row. For sessions, the session that the row
          alone would form.
        - ``time``: the time of the row.
        - ``watermark``: the late watermark, by which the row was late.
        - ``operator``, ``query``: the name of the window operator and the id of the query.
        - ``at``: the wall clock of the micro-batch.

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
        """
        _checks.flag("partly", partly)
        return self._with("with_late_rows", late_rows="partly" if partly else "late")

    def with_dead_letters(self) -> Self:
        """Emit, as a side output, the rows that cannot be assigned to a window.

        Without this step such rows are only counted. They never end a query. The result becomes
        tagged rows, as after `with_late_rows`. The tag ``dead_letters`` has the columns of
        ``late``, and one of these reasons:

        - "no_time": the time is null.
        - "time_out_of_range": the time is outside of the years 1 to 9999.
        - "bad_gap": the gap of the row is null, not positive, or longer than 10,000,000 days.
        - "bad_windows": the windows of the row are null, or a window does not start before it ends.
          Windows outside of the years 1 to 9999 have this reason too.
        - "too_many_windows": the row has more than 10,000,000 windows.

        ``time`` is null for the first two reasons. ``missed_windows`` is empty. ``watermark`` is
        null before the first watermark.

        Returns
        -------
        Windowed
            A new builder whose results are tagged.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_dead_letters", dead_letters=True)

    def drain(self) -> Self:
        """Fire all open windows when a run with ``trigger(availableNow=True)`` ends.

        Such a run also ends the checkpoint. A later ``availableNow`` run without new rows ends at
        once. A later run with new rows, or with another trigger, fails with ``TRANSOM_DRAINED``.
        Before that, runs with other triggers, ``once=True`` included, ignore this step.

        Call this step from the first run on. It adds a source to the query, and Spark requires the
        same number of sources for each run of a checkpoint.

        Returns
        -------
        Windowed
            A new builder that drains.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("drain", drain=True)

    def options(
        self,
        *,
        name: str | None = None,
        key_groups: int = 128,
        layout: Layout = "auto",
        tick: Duration = "1 second",
    ) -> Self:
        """Tune execution.

        Three options can change results:

        - ``key_groups`` moves the windows of a `Tumbling` with a ``stagger``.
        - ``tick`` sets how often the wall clock can fire windows of keys without new rows.
        - ``layout`` affects aggregates that depend on the order of rows, if `stream` has no
          ``order``. It also affects sessions that several rows behind the watermark join in one
          micro-batch.

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
            Period of the ticks that advance the wall clock of keys without new rows. Only
            `ProcessingTime` and triggers by the wall clock use ticks.

        Returns
        -------
        Windowed
            A new builder with these options.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_NAME``, ``TRANSOM_NOT_POSITIVE``, ``TRANSOM_BAD_DURATION``,
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        return self._with("options", name=name, key_groups=key_groups, layout=layout, tick=tick)

    def _with(self, step: str, **settings: Any) -> Self:
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step)
        return replace(self, _spec=replace(self._spec, **settings), _steps=self._steps | {step})
