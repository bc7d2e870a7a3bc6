"""What is said about windows before anything is computed: each step once, in any order."""

import re
from dataclasses import dataclass, replace
from typing import Any, Self

from pyspark.sql import DataFrame

from transom import _checks
from transom._durations import Duration, not_negative, positive
from transom._errors import type_error, value_error
from transom.evictors import Evictor
from transom.spec import Layout, WindowSpec
from transom.time_policies import EventTime
from transom.triggers import Trigger, check_trigger

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Steps:
    """The steps of `Windowed`."""

    _df: DataFrame
    _spec: WindowSpec
    _steps: frozenset[str] = frozenset()

    def trigger(self, trigger: Trigger) -> Self:
        """Say when windows fire, which they do by themselves at their end.

        Parameters
        ----------
        trigger : Trigger
            `Global` windows have no end, and need one. `Count` windows have theirs.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CANNOT_MERGE`` for `AfterDelta` and `ProcessingTimeout` with windows that
            merge, ``TRANSOM_NO_CLOCK`` for `AfterWatermark` and `Every` by the watermark without
            event time, ``TRANSOM_CONFLICT`` for `Count` windows, `EveryBatch` with `evictor` and
            `Purging` with `retract`, ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        check_trigger("trigger", trigger)
        return self._with("trigger", trigger=trigger)

    def evictor(self, evictor: Evictor) -> Self:
        """Say which rows of a window stay when it fires, which all do by themselves.

        Parameters
        ----------
        evictor : Evictor
            Its windows keep their rows, not their aggregates alone.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `EveryBatch`, `retract` and ``Count(partial=True)``,
            ``TRANSOM_SET_TWICE``.
        PySparkTypeError
            ``TRANSOM_BAD_TYPE``.
        """
        if not isinstance(evictor, Evictor):
            raise type_error("evictor", evictor, "an evictor such as transom.KeepLast(100)")
        return self._with("evictor", evictor=evictor)

    def allowed_lateness(self, lateness: Duration) -> Self:
        """Say how long a late row fires its window again; 0 if it is not said.

        Parameters
        ----------
        lateness : str or timedelta
            Event time after the end of a window, until which the window is kept.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_NOT_EVENT_TIME``, ``TRANSOM_NEGATIVE``, ``TRANSOM_BAD_DURATION``,
            ``TRANSOM_SET_TWICE``.
        """
        length = not_negative("lateness", lateness)
        if not isinstance(self._spec.time, EventTime):
            raise value_error("NOT_EVENT_TIME", argument="lateness")
        return self._with("allowed_lateness", allowed_lateness=length)

    def retract(self) -> Self:
        """Take back results that have changed.

        Results have the column ``change``: "+I" with a window's first result; later ones come in
        two rows, "-U" with the values before and "+U" with those now. Results that have not changed
        are not sent again.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_CONFLICT`` with `evictor`, `Purging` and ``Count(partial=True)``,
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("retract", retract=True)

    def with_pane(self) -> Self:
        """Say of each result which of its window's it is, and what made it.

        Results have the column ``pane``, a struct: ``index`` from 0, ``timing`` ("early",
        "on_time", "late"), ``is_last``, ``number`` (of count windows) and ``cause`` ("watermark",
        "clock", "rows", "batch", "idle", "drain").

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_pane", pane=True)

    def with_late_rows(self, *, partly: bool = False) -> Self:
        """Hand on the rows that found their windows closed, instead of only counting them.

        The result then has tagged rows, for `route` and `untag`: ``results`` as without this step,
        and ``late`` with ``row`` (the input), ``reason`` ("late", "late_session"),
        ``missed_windows``, ``time``, ``watermark``, ``operator``, ``query`` and ``at``.

        Parameters
        ----------
        partly : bool
            Whether rows that missed some of their windows come too, as "late_partly". They are in
            their other windows all the same.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        _checks.flag("partly", partly)
        return self._with("with_late_rows", late_rows="partly" if partly else "late")

    def with_dead_letters(self) -> Self:
        """Hand on the rows that no window can take, instead of only counting them.

        No such row ends a query. The result then has tagged rows, as by `with_late_rows`:
        ``dead_letters`` has the same columns as ``late``, with the ``reason``

        - "no_time": the time is null,
        - "time_out_of_range": the time is outside of the years 1 to 9999,
        - "bad_gap": the row's own gap is null, not positive, or longer than 10,000,000 days,
        - "bad_windows": the row's own windows are null, or one does not start before it ends,
          or reaches out of the years 1 to 9999,
        - "too_many_windows": they are more than 10,000,000.

        ``time`` is null for the first two, ``missed_windows`` is empty, and ``watermark`` is null
        as long as there is none.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_SET_TWICE``.
        """
        return self._with("with_dead_letters", dead_letters=True)

    def drain(self) -> Self:
        """Fire the windows that are open when a run with ``trigger(availableNow=True)`` ends.

        The checkpoint then ends too. A later run that finds no further rows ends at once; one that
        finds some is refused with ``TRANSOM_DRAINED``. Runs with other triggers, ``once=True``
        included, are as without this step. Take this step from the first run on: it adds a source,
        and Spark counts the sources of a checkpoint.

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
        """Choose how the stage runs. Results stay the same.

        Only the windows of a `Tumbling` with a ``stagger`` follow from the key groups.

        Parameters
        ----------
        name : str, optional
            Name of the stage in metrics and in the checkpoint.
        key_groups : int
            Number of groups that the keys are spread over: the most tasks that can share the work.
        layout : {"auto", "slices", "keyed"}
            How state is laid out: as a log of partial aggregates, or an entry for each key.
        tick : str or timedelta
            The period of the ticks that tell keys without rows the wall clock. Only processing
            time and triggers by the wall clock need ticks.

        Raises
        ------
        PySparkValueError
            ``TRANSOM_BAD_NAME``, ``TRANSOM_NOT_POSITIVE``,
            ``TRANSOM_BAD_CHOICE``, ``TRANSOM_SET_TWICE``.
        """
        if name is not None:
            _checks.text("name", name)
            if not _NAME.fullmatch(name):
                raise value_error("BAD_NAME", argument="name", value=repr(name))
        return self._with(
            "options",
            name=name,
            key_groups=key_groups,
            layout=layout,
            tick=positive("tick", tick),
        )

    def _with(self, step: str, **settings: Any) -> Self:
        if step in self._steps:
            raise value_error("SET_TWICE", argument=step)
        return replace(self, _spec=replace(self._spec, **settings), _steps=self._steps | {step})
