"""The steps that set when a window fires and which rows it has."""

from typing import Self

from transom._base.durations import Duration, not_negative
from transom._base.errors import type_error, value_error
from transom._steps.base import Steps
from transom.spec.evictors import Evictor
from transom.spec.time_policies import EventTime
from transom.spec.triggers import Trigger, check_trigger


class FiringSteps(Steps):
    """The steps `trigger`, `evictor` and `allowed_lateness`."""

    __slots__ = ()

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
